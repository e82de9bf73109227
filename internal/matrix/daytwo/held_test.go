package daytwo

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A HelmRelease that waits for a DaemonSet which replaces no pod has failed; one whose pods are new, or
// that is not delivered yet, has not.
func TestLane_Held(t *testing.T) {
	object := func(kind, strategy, image string) string {
		return "{apiVersion: apps/v1, kind: " + kind + ", metadata: {namespace: ns, name: x}, spec: {updateStrategy: {type: " + strategy + "}, template: {image: " + image + "}}}"
	}
	for name, tc := range map[string]struct {
		kind, old, strategy string
		generation, seen    int64
		updated             int32
		want                bool
	}{
		"OnDelete":           {"DaemonSet", "a", "OnDelete", 2, 2, 0, true},
		"all new":            {"DaemonSet", "a", "OnDelete", 2, 2, 2, false},
		"not delivered yet":  {"DaemonSet", "a", "OnDelete", 1, 1, 0, false},
		"not seen yet":       {"DaemonSet", "a", "OnDelete", 2, 1, 0, false},
		"rolls":              {"DaemonSet", "a", "RollingUpdate", 2, 2, 0, false},
		"the same template":  {"DaemonSet", "b", "OnDelete", 2, 2, 0, false},
		"a StatefulSet's is": {"StatefulSet", "a", "OnDelete", 2, 2, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			live := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", Generation: tc.generation}}
			live.Spec.UpdateStrategy.Type = appsv1.DaemonSetUpdateStrategyType(tc.strategy)
			live.Status = appsv1.DaemonSetStatus{ObservedGeneration: tc.seen, DesiredNumberScheduled: 2, UpdatedNumberScheduled: tc.updated}
			l := &recordLane{}
			l.Timeout = reason.SyncTimeout
			l.Says = func(time.Duration) (lane.State, error) {
				return lane.State{RootSeen: true, Items: []lane.Item{{ID: "HelmRelease b", Ref: result.Ref{Kind: "HelmRelease", Name: "b"}, State: lane.ItemWaiting, Text: "Running"}}}, nil
			}
			b := Bundles{Before: bundleOf(t, object(tc.kind, tc.strategy, tc.old)), Now: bundleOf(t, object(tc.kind, tc.strategy, "b"))}
			state, err := (&Lane{Lane: l, Bundles: b}).Poll(t.Context(), &lane.Env{Clients: &infra.Clients{Kube: fake.NewClientset(live)}})
			if err != nil {
				t.Fatal(err)
			}
			it := state.Items[0]
			if (it.State == lane.ItemFailed) != tc.want || tc.want && !strings.Contains(it.Text, "it waits for DaemonSet ns/x until its timeout") || tc.want && !strings.Contains(it.Text, "(0 of 2 are); edit: updateStrategy: {type: RollingUpdate} in b/templates/x.yaml") {
				t.Errorf("got %s: %s", it.State, it.Text)
			}
		})
	}
}

// A deployer that waits for a release which an object with a finalizer keeps says so.
func TestLane_WaitedFor(t *testing.T) {
	leaving := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: held, finalizers: [FINALIZER], deletionTimestamp: "2026-01-01T00:00:00Z"}}`
	const held = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: held}}`
	for name, tc := range map[string]struct {
		now, finalizer string
		want           bool
	}{
		"a finalizer that nobody removes": {"a", "example.com/guard", true},
		"Kubernetes' own":                 {"a", "kubernetes.io/x", false},
		"its component stays":             {"b", "example.com/guard", false},
	} {
		b := Bundles{Before: bundleOf(t, held), Now: &bundle.Bundle{Expectation: bundle.Expectation{Releases: []bundle.Release{{Name: tc.now, Namespace: "ns"}}}}}
		it := lane.Item{State: lane.ItemWaiting}
		b.waitedFor(t.Context(), envWith(t, strings.Replace(leaving, "FINALIZER", tc.finalizer, 1)), &it)
		if got := it.State == lane.ItemSuspect && it.Reason == reason.UpgradeDiverged && strings.Contains(it.Text, "ConfigMap ns/held is being deleted for ever: it has the finalizer example.com/guard, and no controller that removes it, so that component b, which the recipe has no more, is not removed; it was in b/templates/x.yaml"); got != tc.want {
			t.Errorf("%s: got %s: %s", name, it.State, it.Text)
		}
	}
}
