package lane

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A custom resource before its CRD is waited for. One whose CRD no component installs is not (F11,
// F30).
func TestMissingKind(t *testing.T) {
	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget"}}}}
	e := bundle.Expectation{Objects: []bundle.Object{{Object: crd}}}
	for message, want := range map[string]string{
		`The Kubernetes API could not find example.com/Widget for requested resource b/b. Make sure the "Widget" CRD is installed`: "",
		`The Kubernetes API could not find example.com/Gadget for requested resource b/b. Make sure the "Gadget" CRD is installed`: "Gadget.example.com",
		`resource mapping not found for name: "b": no matches for kind "Widget" in version "example.com/v1"`:                       "",
		`resource mapping not found for name: "b": no matches for kind "Widget" in version "example.org/v1beta1"`:                  "Widget.example.org",
		`The Kubernetes API could not find policy/PodSecurityPolicy for requested resource b/web. Make sure`:                       "PodSecurityPolicy.policy",
		`pods "p" is forbidden: error looking up service account web/x`:                                                            "",
	} {
		if got, ok := missingKind(message, e); got != want || ok != (want != "") {
			t.Errorf("%s\ngot %q, %v; want %q", message, got, ok, want)
		}
	}
}

// An object in a namespace is waited for if a release, a chart or an operator makes the namespace.
func TestNeverComes(t *testing.T) {
	namespace := func(name string) bundle.Object {
		return bundle.Object{Object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}}
	}
	e := bundle.Expectation{Releases: []bundle.Release{{Name: "x", Namespace: "of-a-release"}}, Objects: []bundle.Object{namespace("of-a-chart")}, Made: []bundle.Object{namespace("of-an-operator")}}
	e.Objects = append(e.Objects, bundle.Object{Object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", // it will be applied, with v2
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget"}, "versions": []any{map[string]any{"name": "v2", "served": true}}}}}})
	for message, want := range map[string]string{
		`ConfigMap of-a-release/c: namespaces "of-a-release" not found`:     "",
		`ConfigMap of-a-chart/c: namespaces "of-a-chart" not found`:         "",
		`ConfigMap of-an-operator/c: namespaces "of-an-operator" not found`: "",
		`ConfigMap nowhere/c: namespaces "nowhere" not found`:               "no component in the recipe creates the namespace nowhere",
		`no matches for kind "Widget" in version "example.org/v1beta1"`:     "no component in the recipe installs the CRD for Widget.example.org",
		`serviceaccounts "x" not found`:                                     "",
		`The Kubernetes API could not find version "v1beta1" of policy/PodDisruptionBudget for requested resource b/web. Version "v1" of policy/PodDisruptionBudget is installed on the destination cluster.`: "neither the API server nor a CRD of the recipe serves PodDisruptionBudget as policy/v1beta1",
		`no matches for kind "FlowSchema" in version "flowcontrol.apiserver.k8s.io/v1beta2"`:                                                                                                                  "neither the API server nor a CRD of the recipe serves FlowSchema as flowcontrol.apiserver.k8s.io/v1beta2",
		`The Kubernetes API could not find version "v2" of example.com/Widget for requested resource b/b`:                                                                                                     "",
		`The Kubernetes API could not find version "v1" of example.com/Widget for requested resource b/b`:                                                                                                     "neither the API server nor a CRD of the recipe serves Widget as example.com/v1",
	} {
		if got := NeverComes(message, e); got != want {
			t.Errorf("%s\ngot %q, want %q", message, got, want)
		}
	}
}

// Helm's lane waits for a kind only if a release before this one has its CRD: one of the same
// release comes too late, and Helm does not try again in reality either.
func TestComesFromEarlier(t *testing.T) {
	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget"}}}}
	e := bundle.Expectation{Releases: []bundle.Release{{Name: "first"}, {Name: "crds"}, {Name: "user"}}, Objects: []bundle.Object{{Object: crd, Release: "crds"}}}
	const message = `resource mapping not found for name: "b": no matches for kind "Widget" in version "example.com/v1"`
	for release, want := range map[string]bool{"first": false, "crds": false, "user": true, "unknown": false} {
		if got := ComesFromEarlier(message, e, release); got != want {
			t.Errorf("%s: got %v", release, got)
		}
	}
	if ComesFromEarlier(`no matches for kind "Gadget" in version "example.com/v1"`, e, "user") || ComesFromEarlier("timed out", e, "user") {
		t.Error("another error is waited for")
	}
}
