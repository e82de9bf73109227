package facts

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// A name that a kustomization has is placed in the file that a person can edit: a patch of the
// recipe before the manifest below it, and never in what was built of them.
func TestPlaceInAKustomization(t *testing.T) {
	file := func(name, text string) recipe.Manifest {
		return recipe.Manifest{Path: name, File: "recipes/" + name, Content: []byte(text)}
	}
	c := &Index{Components: []recipe.Component{{
		ComponentRef: recipe.ComponentRef{Name: "app"}, Declared: recipe.Origin{File: "recipes/overlays/eks.yaml", Line: 4}, Manifests: []recipe.Manifest{file("built.yaml", "secretName: login\n")},
		Kustomization: &recipe.Kustomization{
			Files:      []recipe.Manifest{file("kustomization.yaml", "resources: [web.yaml]\n"), file("web.yaml", "a: b\nsecretName: login\nother: tls\n")},
			PatchFiles: []recipe.Manifest{file("patch.yaml", "\n\nsecretName: login\n")},
		},
	}}}
	for name, want := range map[string]recipe.Origin{"login": {File: "recipes/patch.yaml", Line: 3}, "tls": {File: "recipes/web.yaml", Line: 3}, "none": {File: "recipes/overlays/eks.yaml", Line: 4}} {
		if got, text := c.Place(&problem.Problem{Component: "app", Template: "app/templates/web.yaml", Name: name}); got.File != want.File || got.Line != want.Line {
			t.Errorf("%s: got %v (%s), want %v", name, got, text, want)
		}
	}
}

// Where no line has the name, the place is the object's in its manifest, and only without one the
// line that declares the component.
func TestPlaceOfAnObject(t *testing.T) {
	m := recipe.Manifest{Path: "web.yaml", File: "recipes/components/app/manifests/web.yaml", Content: []byte("# all\n---\nkind: Deployment\nmetadata:\n  name: web\n")}
	c := &Index{Components: []recipe.Component{{ComponentRef: recipe.ComponentRef{Name: "app"}, Declared: recipe.Origin{File: "recipes/overlays/eks.yaml", Line: 4}, Manifests: []recipe.Manifest{m}}}}
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{"name": "web"}}}
	c.Expectation = &bundle.Expectation{Objects: []bundle.Object{{Template: m.File, Manifest: &m, Object: object}}}
	r := problem.Problem{From: result.Ref{Kind: "Deployment", Name: "web"}, Component: "app", Template: m.File, Name: "login"}
	if got, text := c.Place(&r); got.String() != m.File+":3" || text != "set in "+m.File+":3" {
		t.Errorf("got %v (%s)", got, text)
	}
	r.Template = "other/templates/web.yaml"
	if got, text := c.Place(&r); got.String() != "recipes/overlays/eks.yaml:4" {
		t.Errorf("of a chart: got %v (%s)", got, text)
	}
}

// The template of a chart comes with the line of the object in it.
func TestPlace_Chart(t *testing.T) {
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "c"}, Templates: []*chart.File{{Name: "templates/d.yaml", Data: []byte("# a\n---\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n")}}}
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{"name": "d"}}}
	c := &Index{Components: []recipe.Component{{ComponentRef: recipe.ComponentRef{Name: "app"}, Declared: recipe.Origin{File: "o.yaml", Line: 4}}}}
	c.Expectation = &bundle.Expectation{Objects: []bundle.Object{{Component: "app", Template: "c/templates/d.yaml", Chart: ch, Object: object}}}
	r := problem.Problem{From: result.Ref{Kind: "Deployment", Name: "d"}, Component: "app", Template: "c/templates/d.yaml", Name: "login"}
	if got, text := c.Place(&r); got.String() != "o.yaml:4" || text != "set in c/templates/d.yaml:3 (component declared in o.yaml:4)" {
		t.Errorf("got %v (%s)", got, text)
	}
}
