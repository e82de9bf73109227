package bundles

import (
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// A command that only reads charts needs no source of a kustomization.
func TestChartsBesideKustomize(t *testing.T) {
	const head = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: "
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"registry.yaml":        head + "ComponentRegistry\ncomponents:\n- name: theirs\n  kustomize: {defaultSource: 'https://example.com/theirs.git', defaultPath: deploy, defaultTag: v2}\n",
		"overlays/base.yaml":   head + "RecipeMetadata\nmetadata: {name: base}\nspec: {}\n",
		"overlays/remote.yaml": head + "RecipeMetadata\nmetadata: {name: remote}\nspec:\n  criteria: {service: eks, intent: training}\n  componentRefs:\n  - {name: theirs, namespace: theirs}\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	store, err := recipe.Open(files, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	if pins, err := pinsOf(store, "remote"); err != nil || len(pins) > 0 {
		t.Errorf("got %v, %v", pins, err)
	}
}
