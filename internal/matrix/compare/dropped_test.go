package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
)

// realInput is what the bundles of eks-training are made from.
func realInput(t *testing.T) bundle.Input {
	t.Helper()
	store := shippedtest.Recipes(t)
	result, err := store.ResolveName("eks-training")
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	components, err := store.Components(result)
	if err != nil {
		t.Fatalf("hydrate: %v", err)
	}
	return bundle.Input{Recipe: result, Components: components, Scheduling: bundle.KwokScheduling(), Charts: shippedtest.Charts(t), RepoURL: "oci://127.0.0.1:5500/aicr/eks-training", KubeVersion: "v1.36.1"}
}

// renderedLive are the objects of a bundle as if a lane had delivered them.
func renderedLive(t *testing.T, in bundle.Input) *Captured {
	t.Helper()
	b, err := bundle.Deployers()[0].Bundle(t.Context(), in)
	if err != nil {
		t.Fatalf("make the bundle: %v", err)
	}
	c := New()
	for _, o := range b.Expectation.Objects {
		put(t, c, o.Object.DeepCopy(), false)
	}
	return c
}

// The shipped recipe, of which one lane lost one key of one component's values.
func TestDroppedKeyOfRealRecipe(t *testing.T) {
	in := realInput(t)
	whole := renderedLive(t, in)
	results := compareAll(t, []Lane{lanePassed("eks-training", "helm", whole), lanePassed("eks-training", "flux-oci", renderedLive(t, in))})
	if r := results[1]; r.Status != result.Passed || r.ComparedObjects < 200 {
		t.Fatalf("with all values: got %s: %s, %d objects", r.Status, r.Cause, r.ComparedObjects)
	}
	for component, key := range map[string]string{"cert-manager": "webhook", "prometheus-adapter": "prometheus"} {
		lossy := in
		lossy.Components = slices.Clone(in.Components)
		at := slices.IndexFunc(lossy.Components, func(c recipe.Component) bool { return c.Name == component })
		if at < 0 {
			t.Fatalf("eks-training has no %s", component)
		}
		values := map[string]any{}
		for k, v := range in.Components[at].Values {
			if k != key {
				values[k] = v
			}
		}
		if len(values) == len(in.Components[at].Values) {
			t.Fatalf("%s sets no %s", component, key)
		}
		lossy.Components[at].Values = values
		results := compareAll(t, []Lane{lanePassed("eks-training", "helm", renderedLive(t, in)), lanePassed("eks-training", "flux-oci", renderedLive(t, lossy))})
		r := results[1]
		if r.Status != result.Failed || r.Reason != reason.LaneDivergence {
			t.Errorf("%s without %s: got %s: %s", component, key, r.Status, r.Cause)
		}
		for _, line := range r.Details {
			if !strings.Contains(line, component) {
				t.Errorf("%s without %s: got %q, which is another component's", component, key, line)
			}
		}
		t.Logf("%s without %s: %s", component, key, r.Cause)
	}
}
