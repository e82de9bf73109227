package daytwo

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// What the delivery has deleted is waited for, for a while; what stays or waits for a finalizer is not.
func TestSettled(t *testing.T) {
	const name = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x`
	for what, tc := range map[string]struct {
		live    string
		goes    time.Duration // the object is gone then
		at, end time.Duration
	}{
		"stays":             {name + `}}`, 0, 0, 0},
		"is gone":           {"", 0, 0, 0},
		"goes":              {name + `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [kubernetes]}}`, 5 * time.Second, 5 * time.Second, 7 * time.Second},
		"does not go":       {name + `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [kubernetes]}}`, time.Hour, leavesWithin, leavesWithin + 2*time.Second},
		"has its finalizer": {name + `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/x]}}`, time.Hour, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var live []string
			if tc.live != "" {
				live = []string{tc.live}
			}
			env := envWith(t, live...)
			b := Bundles{Before: bundleOf(t, name+"}}", "b {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: other}}"), Now: bundleOf(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: other}}")}
			if tc.goes > 0 && tc.goes < time.Hour {
				time.AfterFunc(tc.goes, func() { remove(t, env) })
			}
			began := time.Now()
			b.Settled(t.Context(), env)
			if took := time.Since(began); took < tc.at || took > tc.end {
				t.Errorf("%s: it took %s, want %s to %s", what, took, tc.at, tc.end)
			}
		})
	}
}

func remove(t *testing.T, env *lane.Env) {
	t.Helper()
	if err := env.Clients.Dynamic.Resource(infra.ResourceFor(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})).Namespace("ns").Delete(t.Context(), "x", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
