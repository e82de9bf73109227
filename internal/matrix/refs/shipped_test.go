package refs

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
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
	for _, name := range []string{"h100-aks-ubuntu-inference-dynamo", "h100-gke-cos-training-kubeflow"} {
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
		have := &Cluster{View: &observe.View{}, Secrets: map[string]map[string]bool{}, ConfigMaps: map[string]map[string]bool{}, ServiceAccounts: map[string]bool{}}
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
		r := Check(e, components, have)
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
