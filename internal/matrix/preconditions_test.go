package matrix

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// F323: what AICR's bundler refuses ends the recipe's cells, and no others, before a cluster exists, unless AICR's own CLI makes the bundle, and says
// so itself.
func TestPlan_Preconditions(t *testing.T) {
	const head = "apiVersion: aicr.run/v1alpha2\n"
	for root, refused := range map[string]bool{"/": true, "/run/nvidia/driver": false} {
		store, err := recipe.Open(fstest.MapFS{
			"registry.yaml": {Data: []byte(head + `kind: ComponentRegistry
components:
- name: gpu-operator
  helm: {defaultRepository: "https://charts.example", defaultChart: gpu-operator, defaultVersion: "1.0.0"}
  validations:
  - function: CheckDriverOwnershipCoherence
    severity: error
- name: nvidia-dra-driver-gpu
  helm: {defaultRepository: "https://charts.example", defaultChart: dra, defaultVersion: "1.0.0"}
`)},
			"overlays/base.yaml": {Data: []byte(head + "kind: RecipeMetadata\nmetadata: {name: base}\nspec:\n  componentRefs:\n  - {name: gpu-operator}\n  - {name: nvidia-dra-driver-gpu, overrides: {nvidiaDriverRoot: " + root + "}}\n")},
			"overlays/eks.yaml":  {Data: []byte(head + "kind: RecipeMetadata\nmetadata: {name: eks}\nspec: {criteria: {service: eks}}\n")},
		}, "recipes")
		if err != nil {
			t.Fatal(err)
		}
		r := unitRunner(t)
		r.Store = store
		plans, err := r.Plan("eks", bundle.Deployers()[:1])
		if err != nil {
			t.Fatal(err)
		}
		const says = "set nvidia-dra-driver-gpu:nvidiaDriverRoot=/run/nvidia/driver"
		checked, run := r.Check(t.Context(), plans[0], false).Err, r.Run(t.Context(), plans[0]) // without the refusal: the charts are missing
		if reason.Of(checked) != reason.BundleFailed || strings.Contains(checked.Error(), says) != refused || refused && !strings.Contains(checked.Error(), "recipes/registry.yaml:7") {
			t.Errorf("%s: the check got %v", root, checked)
		}
		if run.Status != result.Failed || run.Reason != reason.BundleFailed || strings.Contains(run.Cause, says) != refused {
			t.Errorf("%s: the cell got %s %s: %s", root, run.Status, run.Reason, run.Cause)
		}
		r.From = &From{Name: "old", Inputs: r.Inputs}
		if _, err := r.Plan("eks", bundle.Deployers()[:1]); (err != nil) != refused || refused && !strings.Contains(err.Error(), "--from old: what runs before: recipes/registry.yaml:7") {
			t.Errorf("%s: as what runs before: %v", root, err)
		}
		r.From = nil
		r.Bundler = ownBundler{}
		if _, err := r.Plan("eks", bundle.Deployers()[:1]); err != nil {
			t.Errorf("%s: with another bundler: %v", root, err)
		}
	}
}
