package refs

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// What needs no cluster finds nothing in this project's recipes: no webhook without an authority,
// none before what it is for, no pods that GKE rejects and no deadlock, whatever delivers them.
func TestShippedRecipes_Static(t *testing.T) {
	store, err := recipe.Open(os.DirFS("../../../recipes"), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	charts, err := catalog.FromDir("../../../kwok/charts")
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]*recipe.Store{"h100-aks-ubuntu-inference-dynamo": store, "h100-gke-cos-training-kubeflow": store, "operators": operatorsOfJuly(t)} {
		found, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		components, err := store.Components(found)
		if err != nil {
			t.Fatal(err)
		}
		made, err := bundle.ByName([]string{bundle.FluxOCI})
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
		e := &b.Expectation
		for _, d := range []lane.Order{{Ready: true, Releases: true}, {ArgoCD: true, Ready: true, Releases: true}, {InOrder: true}} {
			for _, f := range Deadlocks(e, components, d).Faults {
				t.Errorf("%s: %s", name, f.Finding.Cause)
			}
		}
		have := &facts.Live{View: &observe.View{}, Secrets: map[string]map[string]bool{}, ConfigMaps: map[string]map[string]bool{}, ServiceAccounts: map[string]bool{}}
		if found.Criteria.Service == "gke" {
			have.View.Nodes = []corev1.Node{{}}
			have.View.Nodes[0].Labels = map[string]string{"cloud.google.com/gke-nodepool": "p"}
		}
		for i := range e.Objects {
			var s corev1.Service
			if o := e.Objects[i].Object; o.GetKind() == "Service" && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &s) == nil {
				have.Services = append(have.Services, s)
			}
		}
		r := checkAll(e, components, have)
		for _, f := range r.Faults {
			if text := f.Finding.Cause; strings.Contains(text, "caBundle") || strings.Contains(text, "no ResourceQuota for it") {
				t.Errorf("%s: %s", name, text)
			}
		}
		for _, w := range r.Warnings {
			if strings.Contains(w, "fails closed") || strings.Contains(w, "caBundle") {
				t.Errorf("%s: %s", name, w)
			}
		}
	}
}

// operatorsOfJuly is a recipe of the simulated charts with webhooks that only AICR's recipes of July
// and later have.
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
