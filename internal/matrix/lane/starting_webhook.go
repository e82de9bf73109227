package lane

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// WebhookPatience is how long a webhook of the bundle may be out of reach. The programs of operators
// are ready within seconds here. A deployer that tries again has time for that, and the verdict must
// not depend on who is first.
const WebhookPatience = 60 * time.Second

// notCalled matches the API server's error about a webhook that it could not call.
var notCalled = regexp.MustCompile(`failed calling webhook "([^"]+)"`)

// never are the answers that show that a webhook's server is there: no waiting helps.
var never = []string{"denied the request", "could not find the requested resource"}

// StartingWebhook is the webhook that a message says could not be called, and the release that
// installs it: its server may still be starting. It is false if no release of the bundle has such a
// webhook, or if its server answered. Only webhooks of operators that run are called.
func StartingWebhook(message string, e bundle.Expectation) (webhook string, of bundle.Release, ok bool) {
	return startingWebhook(message, e, e.Releases)
}

// StartingUpTo is StartingWebhook for the releases up to the named one: the first try of that one
// has created its own program.
func StartingUpTo(message string, e bundle.Expectation, release string) (webhook string, of bundle.Release, ok bool) {
	at := slices.IndexFunc(e.Releases, func(r bundle.Release) bool { return r.Name == release })
	return startingWebhook(message, e, e.Releases[:at+1])
}

func startingWebhook(message string, e bundle.Expectation, among []bundle.Release) (webhook string, of bundle.Release, ok bool) {
	m := notCalled.FindStringSubmatch(message)
	if m == nil || slices.ContainsFunc(never, func(text string) bool { return strings.Contains(message, text) }) {
		return "", bundle.Release{}, false
	}
	for _, o := range e.Objects {
		if !hasWebhook(o.Object, m[1]) {
			continue
		}
		if i := slices.IndexFunc(among, func(r bundle.Release) bool { return r.Name == o.Release }); i >= 0 {
			return m[1], among[i], true
		}
	}
	return "", bundle.Release{}, false
}

// hasWebhook reports whether an object configures a webhook of this name.
func hasWebhook(o *unstructured.Unstructured, name string) bool {
	if o.GetKind() != "ValidatingWebhookConfiguration" && o.GetKind() != "MutatingWebhookConfiguration" {
		return false
	}
	all, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	return slices.ContainsFunc(all, func(w any) bool {
		fields, _ := w.(map[string]any)
		return fields["name"] == name
	})
}
