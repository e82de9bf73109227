package main

import (
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A recipe keeps what its components are, and where, in the one that is deployed.
func TestRecipeInherit(t *testing.T) {
	var deployed map[string]any
	if err := yaml.Unmarshal([]byte(read(t, recipeFile(t))), &deployed); err != nil {
		t.Fatal(err)
	}
	component := func(r map[string]any, name string) map[string]any {
		for _, v := range r["componentRefs"].([]any) {
			if ref := v.(map[string]any); ref["name"] == name {
				return ref
			}
		}
		t.Fatalf("no component %s", name)
		return nil
	}
	old := func(change func(gpu map[string]any)) string {
		gpu := component(deployed, "gpu-operator")
		change(gpu)
		text, err := yaml.Marshal(deployed)
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "old.yaml", string(text))
	}
	component(deployed, "cert-manager")["overrides"] = map[string]any{"enabled": false}
	component(deployed, "cert-manager")["namespace"] = "elsewhere"
	file := old(func(gpu map[string]any) {
		gpu["namespace"], gpu["version"], gpu["source"] = "old-place", "v24.1.0", "https://old.example.com"
		delete(gpu, "manifestFiles")
	})
	r := invoke(t, with("recipe", "--inherit-from", file)...)
	r.want(t, 0, "note: gpu-operator: namespace old-place, as it is deployed, in place of gpu-operator", "source https://old.example.com, as it is deployed", "gpu-operator: manifestFiles -, as they are deployed, in place of components/gpu-operator/")
	var now map[string]any
	if err := yaml.Unmarshal([]byte(r.stdout), &now); err != nil {
		t.Fatal(err)
	}
	gpu := component(now, "gpu-operator")
	if gpu["namespace"] != "old-place" || gpu["version"] != "v25.10.1" || gpu["source"] != "https://old.example.com" || gpu["manifestFiles"] != nil || component(now, "cert-manager")["namespace"] != "cert-manager" {
		t.Errorf("got %v", gpu)
	}
	// What is as it was is said nowhere.
	same := invoke(t, with("recipe", "--inherit-from", recipeFile(t))...)
	if plain := invoke(t, with("recipe")...); strings.Contains(same.stderr, "as it is deployed") || !reflect.DeepEqual(same.stdout, plain.stdout) {
		t.Errorf("got %s", same.stderr)
	}
	invoke(t, with("recipe", "--inherit-from", old(func(gpu map[string]any) { gpu["type"] = "Kustomize" }))...).want(t, 2, "component gpu-operator is deployed as Kustomize, and is Helm in this recipe")
	invoke(t, with("recipe", "--inherit-from", t.TempDir())...).want(t, 3, "--inherit-from ", "a directory without recipe.yaml")
}
