package gitops

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/infra/health"
)

// Every object that configures or guards the controllers is one that no recipe may deliver.
func TestOwnObjects_Reserved(t *testing.T) {
	all := []*unstructured.Unstructured{RepositorySecret(0, "h"), RepositorySecret(2, "h")}
	for _, o := range ArgoCDObjects(health.Policy{}) {
		if o.GetKind() != "Namespace" { // a recipe may name the namespace, and its labels decide nothing
			all = append(all, o)
		}
	}
	for _, p := range []*Policy{ArgoCDPolicy("h", ""), FluxPolicy("h", "r", "")} {
		policy, binding, err := p.objects()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, policy, binding)
	}
	if len(all) < 9 {
		t.Fatalf("only %d objects", len(all))
	}
	for _, o := range all {
		if policy.WhyReserved(o) == "" {
			t.Errorf("a recipe may deliver %s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
		}
	}
}
