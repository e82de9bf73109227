package refs

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// A name that a kustomization has is placed in the file that a person can edit: a patch of the
// recipe before the manifest below it, and never in what was built of them.
func TestPlaceInAKustomization(t *testing.T) {
	file := func(name, text string) recipe.Manifest {
		return recipe.Manifest{Path: name, File: "recipes/" + name, Content: []byte(text)}
	}
	c := &checker{components: []recipe.Component{{
		ComponentRef: recipe.ComponentRef{Name: "app"}, Declared: recipe.Origin{File: "recipes/overlays/eks.yaml", Line: 4}, Manifests: []recipe.Manifest{file("built.yaml", "secretName: login\n")},
		Kustomization: &recipe.Kustomization{
			Files:      []recipe.Manifest{file("kustomization.yaml", "resources: [web.yaml]\n"), file("web.yaml", "a: b\nsecretName: login\nother: tls\n")},
			PatchFiles: []recipe.Manifest{file("patch.yaml", "\n\nsecretName: login\n")},
		},
	}}}
	for name, want := range map[string]recipe.Origin{"login": {File: "recipes/patch.yaml", Line: 3}, "tls": {File: "recipes/web.yaml", Line: 3}, "none": {File: "recipes/overlays/eks.yaml", Line: 4}} {
		if got, text := c.place("app", "app/templates/web.yaml", name); got.File != want.File || got.Line != want.Line {
			t.Errorf("%s: got %v (%s), want %v", name, got, text, want)
		}
	}
}
