package matrix

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Of what exists, what no program here serves is left out, and what no recipe may deliver is refused.
func TestNewExisting(t *testing.T) {
	objects := func(text string) []*unstructured.Unstructured {
		all, err := infra.DecodeObjects([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.x.y}\nspec: {group: x.y, names: {kind: Widget}, versions: [{name: v1, served: true}]}\n"
	e, err := NewExisting("--with a", objects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\n---\n"+definition))
	if err != nil || len(e.Objects) != 2 || e.From != "--with a: 2 objects; without 1 ValidatingWebhookConfiguration, which no program here serves" {
		t.Errorf("got %+v, %v", e, err)
	}
	var names []string
	for _, o := range missingNamespaces(append(e.Objects, objects("{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: kube-system}}")...)) {
		names = append(names, o.GetName())
	}
	if !slices.Equal(names, []string{"x"}) {
		t.Errorf("namespaces: got %q", names)
	}
	r := &Runner{Inputs: Inputs{Existing: []Existing{e}}}
	if got := r.existingAPIs(bundle.StackAPIs()).Server; !slices.ContainsFunc(got, func(a bundle.API) bool { return a.Name == "x.y/v1/Widget" }) {
		t.Errorf("charts do not see what the definition serves: %v", got)
	}
	if len(bundle.StackAPIs().Server) == len(r.existingAPIs(bundle.StackAPIs()).Server) {
		t.Error("the stack's own list has changed")
	}
	_, err = NewExisting("--with b", objects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\n"))
	if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "--with b: ConfigMap argocd/argocd-cm") {
		t.Errorf("one of the harness's own: got %v", err)
	}
}
