package daytwo

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What the delivery removes must go: one that waits for a finalizer that nothing removes is a failure,
// whether or not the deployer waits for it and the last read answers, and not verified if a simulated operator may remove it.
func TestGone(t *testing.T) {
	const object = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: guarded}}`
	leaving := func(finalizer string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: guarded, finalizers: [` + finalizer + `], deletionTimestamp: "2026-01-01T00:00:00Z"}}`
	}
	for name, tc := range map[string]struct {
		live, now string
		red, note bool
	}{
		"waits for ever":         {leaving("example.com/guard"), "", true, false},
		"a simulated operator's": {leaving("x.y/guard"), "", false, true},
		"Kubernetes' own":        {leaving("kubernetes.io/pvc-protection"), "", false, false},
		"stays, as Helm does":    {object, "", false, false},
		"gone":                   {"", "", false, false},
		"still in the recipe":    {leaving("example.com/guard"), object, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := Bundles{Before: bundleOf(t, object, definition), Now: bundleOf(t, definition)}
				if tc.now != "" {
					b.Now = bundleOf(t, tc.now, definition)
				}
				env := envWith(t)
				if tc.live != "" {
					env = envWith(t, tc.live)
				}
				reads := 0
				env.Clients.Dynamic.(*dynamicfake.FakeDynamicClient).PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
					reads++
					return reads > 5, nil, errors.New("the time is over")
				})
				lines, err := b.Gone(t.Context(), "the upgrade from main", env, nil, nil)
				if v := result.VerdictOf(err); (err != nil) != tc.red || tc.red && (v.Reason != reason.UpgradeDiverged || v.Component != "b") {
					t.Errorf("got %v", err)
				} else if tc.red {
					testkit.WantText(t, "cause", v.Cause, "the upgrade from main: ConfigMap ns/guarded is being deleted for ever: it has the finalizer example.com/guard, and no controller that removes it")
					testkit.WantText(t, "details", strings.Join(v.Details, "\n"), "b/templates/x.yaml", "take the finalizer off before the upgrade")
				}
				if (len(lines) == 1) != tc.note {
					t.Errorf("got the notes %q", lines)
				}
			})
		})
	}
}
