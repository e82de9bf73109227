package lane

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A custom resource before its CRD is waited for; one whose CRD nobody brings is not (F11, F30).
func TestNobodyBrings(t *testing.T) {
	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget"}}}}
	e := bundle.Expectation{Objects: []bundle.Object{{Object: crd}}}
	for message, want := range map[string]string{
		`The Kubernetes API could not find example.com/Widget for requested resource b/b. Make sure the "Widget" CRD is installed`: "",
		`The Kubernetes API could not find example.com/Gadget for requested resource b/b. Make sure the "Gadget" CRD is installed`: "Gadget.example.com",
		`resource mapping not found for name: "b": no matches for kind "Widget" in version "example.com/v1"`:                       "",
		`resource mapping not found for name: "b": no matches for kind "Widget" in version "example.org/v1beta1"`:                  "Widget.example.org",
		`pods "p" is forbidden: error looking up service account web/x`:                                                            "",
	} {
		if got, ok := MissingKind(message, e); got != want || ok != (want != "") {
			t.Errorf("%s\ngot %q, %v; want %q", message, got, ok, want)
		}
	}
}
