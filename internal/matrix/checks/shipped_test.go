package checks

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
)

// What needs no cluster finds no fault in this project's recipes, whatever delivers them, and no webhook without an
// authority or before what it is for. A check that does has a fault of its own.
func TestShippedRecipes(t *testing.T) {
	store, charts := shippedtest.Recipes(t), shippedtest.Charts(t)
	made, err := bundle.ByName([]string{bundle.FluxOCI})
	if err != nil {
		t.Fatal(err)
	}
	bench := &judge.Bench{Checks: All()}
	for name, store := range map[string]*recipe.Store{"h100-eks-ubuntu-inference-dynamo": store, "h100-gke-cos-training-kubeflow": store, "operators": operatorsOfJuly(t)} {
		found, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		components, err := store.Components(found)
		if err != nil {
			t.Fatal(err)
		}
		b, err := made[0].Bundle(t.Context(), bundle.Input{
			Recipe: found, Components: components, Scheduling: bundle.KwokScheduling(), Charts: charts, ChartRepository: "oci://127.0.0.1:5500/charts", PlainHTTP: true,
			RepoURL: "oci://127.0.0.1:5500/aicr/x", KubeVersion: "v1.36.1",
		})
		if err != nil {
			t.Fatal(err)
		}
		var nodes []corev1.Node
		if found.Criteria.Service == "gke" {
			nodes = append(nodes, corev1.Node{})
			nodes[0].Labels = map[string]string{"cloud.google.com/gke-nodepool": "p"}
		}
		for _, lane := range []string{"helm", "argocd-oci", "flux-oci"} {
			r, err := bench.Report(facts.New(&b.Expectation, components, nodes, nil), name, order(lane), judge.Rendered)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				webhook := f.Check == "MX226" || f.Check == "MX228" || f.Check == "MX229"
				if f.Reason != "" && f.Check != "MX150" || webhook { // the nodes have no room here
					t.Errorf("%s in %s: %s", name, lane, f.Cause)
				}
			}
		}
	}
}

// operatorsOfJuly is a recipe of the simulated charts with webhooks that only AICR's recipes of July and later have.
func operatorsOfJuly(t *testing.T) *recipe.Store {
	t.Helper()
	var registry, refs strings.Builder
	for _, c := range [][3]string{{"grove-charts", "v0.1.0-alpha.8", "dynamo-system"}, {"slurm-operator-crds", "1.2.0", "slinky"}, {"slurm-operator", "1.2.0", "slinky"}, {"k8s-nim-operator", "3.1.0", "nim"}} {
		_, _ = fmt.Fprintf(&registry, "- {name: %s, helm: {defaultRepository: 'https://charts.example', defaultChart: %[1]s, defaultVersion: %s, defaultNamespace: %s}}\n", c[0], c[1], c[2]) // a builder does not fail
		_, _ = fmt.Fprintf(&refs, "  - {name: %s}\n", c[0])
	}
	const header = "apiVersion: aicr.run/v1alpha2\nkind: "
	store, err := recipe.Open(fstest.MapFS{
		"registry.yaml":           {Data: []byte(header + "ComponentRegistry\ncomponents:\n" + registry.String())},
		"overlays/base.yaml":      {Data: []byte(header + "RecipeMetadata\nmetadata: {name: base}\nspec:\n  componentRefs:\n" + refs.String())},
		"overlays/operators.yaml": {Data: []byte(header + "RecipeMetadata\nmetadata: {name: operators}\nspec: {criteria: {service: kind}}\n")},
	}, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	return store
}
