package helm

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// The next release comes once a kind that this one has removed is served no more, and no later than
// after its budget.
func TestRemovedKinds(t *testing.T) {
	const crd = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.x.y}, spec: {group: x.y, names: {kind: Widget}, versions: [{name: v1}]}}`
	for name, tc := range map[string]struct {
		release  string
		template string
		stays    bool // in the new bundle
		gone     time.Duration
		want     time.Duration
	}{
		"gone soon":   {"a", "a/templates/crd.yaml", false, time.Second, time.Second},
		"never":       {"a", "a/templates/crd.yaml", false, time.Hour, removalBudget},
		"another's":   {"b", "a/templates/crd.yaml", false, time.Hour, 0},
		"of crds/":    {"a", "a/crds/crd.yaml", false, time.Hour, 0},
		"not removed": {"a", "a/templates/crd.yaml", true, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kube := kubefake.NewClientset()
				served := []*metav1.APIResourceList{{GroupVersion: "x.y/v1", APIResources: []metav1.APIResource{{Kind: "Widget"}}}}
				discovery := kube.Discovery().(*fake.FakeDiscovery)
				discovery.Resources = served
				start := time.Now()
				timer := time.AfterFunc(tc.gone, func() { discovery.Resources = nil })
				defer timer.Stop()
				before := &bundle.Bundle{Expectation: bundle.Expectation{Objects: []bundle.Object{{Release: "a", Template: tc.template, Object: testkit.Parsed(t, crd)}}}}
				now := &bundle.Bundle{}
				if tc.stays {
					now = before
				}
				removedKinds(t.Context(), &lane.Env{Before: before, Bundle: now, Clients: &infra.Clients{Kube: kube}}, tc.release)
				if took := time.Since(start).Round(time.Second); took != tc.want {
					t.Errorf("waited %s, want %s", took, tc.want)
				}
			})
		})
	}
	removedKinds(t.Context(), &lane.Env{}, "a") // a first installation removes nothing
}
