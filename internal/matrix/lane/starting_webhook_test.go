package lane

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A webhook that could not be called is waited for if a release of the bundle has it, in lanes with
// an order an earlier one or the same; one whose server answered is not (F114).
func TestStartingWebhook(t *testing.T) {
	hook := &unstructured.Unstructured{Object: map[string]any{"kind": "ValidatingWebhookConfiguration", "webhooks": []any{map[string]any{"name": "hook.example.com"}}}}
	e := bundle.Expectation{Releases: []bundle.Release{{Name: "first"}, {Name: "hooks", Component: "hooking"}, {Name: "user"}}, Objects: []bundle.Object{{Object: hook, Release: "hooks"}}}
	const call = `Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: `
	for message, want := range map[string]bool{
		call + `Post "https://hook.n.svc:443/?timeout=30s": no pod of Service n/hook is ready, or listens on its port 443 (n/hook-0)`: true,
		call + `Post "https://hook.n.svc:443/?timeout=30s": tls: failed to verify certificate: x509: certificate signed by unknown`:   true,
		call + `the server could not find the requested resource`:                                                                     false,
		`admission webhook "hook.example.com" denied the request: no names`:                                                           false,
		`failed calling webhook "other.example.com": failed to call webhook: EOF`:                                                     false,
		`Post "https://hook.n.svc:443/?timeout=30s": EOF`:                                                                             false,
	} {
		if webhook, of, ok := StartingWebhook(message, e); ok != want || ok && (webhook != "hook.example.com" || of.Component != "hooking") {
			t.Errorf("%s\ngot %q of %q, %v", message, webhook, of.Component, ok)
		}
		for release, later := range map[string]bool{"first": false, "hooks": true, "user": true, "unknown": false} {
			if _, _, ok := StartingUpTo(message, e, release); ok != (want && later) {
				t.Errorf("%s: %s: got %v", release, message, ok)
			}
		}
	}
}
