package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dataDirectory is a data directory of the test's own, with an overlay and a component that only it
// has, and other values of one that the recipes have.
func dataDirectory(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	const head = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: "
	for name, text := range map[string]string{
		"registry.yaml": head + "ComponentRegistry\ncomponents:\n  - name: mine\n    manifest: {defaultNamespace: mine}\n",
		"overlays/mine.yaml": head + "RecipeMetadata\nmetadata: {name: mine}\nspec:\n  base: eks-training\n  criteria: {service: eks, intent: training, platform: mine}\n" +
			"  componentRefs:\n    - {name: mine, manifestFiles: [components/mine/manifests/a.yaml]}\n",
		"components/mine/manifests/a.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n",
		"components/cert-manager/values.yaml": "replicaCount: 3\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A recipe that only the data directory has is made of its files and the recipes', and a mistake is
// reported where it is.
func TestDataDirectory(t *testing.T) {
	data, out := dataDirectory(t), filepath.Join(t.TempDir(), "out")
	invoke(t, nil, "bundle", "mine", "-o", out, "--recipes-dir", "../../test/recipes-march", "--data", data).want(t, 0)
	for file, part := range map[string]string{"cert-manager/values.yaml": "replicaCount: 3", "mine/chart/templates/a.yaml": "name: mine"} {
		raw, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(file)))
		if err != nil || !strings.Contains(string(raw), part) {
			t.Errorf("%s lacks %q: %v\n%s", file, part, err, raw)
		}
	}
	invoke(t, nil, "bundle", "mine", "-o", out).want(t, 2, `"mine"`)
	overlay := filepath.Join(data, "overlays", "mine.yaml")
	edit(t, overlay, "base: eks-training", "base: eks-trainign")
	place := filepath.ToSlash(overlay) + ":5: "
	for _, args := range [][]string{{"run", "mine"}, {"bundle", "mine", "-o", out}, {"nodes", "mine"}, {"discover"}, {"list", "recipes"}} {
		invoke(t, nil, append(args, "--data", data)...).want(t, 2, place, `did you mean "eks-training"?`)
	}
}

// What changed in the data directory reaches the recipes that read it, and is compared with how it
// was.
func TestDiscoverData(t *testing.T) {
	recipes := fewRecipes(t)
	top := filepath.Dir(recipes)
	data := filepath.Join(top, "data")
	if err := os.CopyFS(data, os.DirFS(dataDirectory(t))); err != nil {
		t.Fatal(err)
	}
	h100(t, recipes)
	overlay := filepath.Join(data, "overlays", "mine.yaml")
	edit(t, overlay, "platform: mine", "platform: mine, accelerator: h100")
	git(t, top, "init", "--quiet", "--initial-branch=main")
	git(t, top, "add", "--all")
	git(t, top, "commit", "--quiet", "--message", "recipes")
	cells := func() map[string]string {
		t.Helper()
		r := invokeIn(t.Context(), t, t.TempDir(), nil, "discover", "--recipes-dir", recipes, "--data", data, "--tier", "2", "--base", "main", "-o", "json")
		r.want(t, 0)
		var plan struct {
			Entries []struct {
				Recipe  string
				Reasons []string
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &plan); err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, e := range plan.Entries {
			found[e.Recipe] = strings.Join(e.Reasons, "; ")
		}
		return found
	}
	if got := cells(); len(got) > 0 {
		t.Errorf("nothing changed; got %q", got)
	}
	edit(t, filepath.Join(data, "components", "mine", "manifests", "a.yaml"), "name: mine", "name: yours")
	if got := cells(); len(got) != 1 || got["mine"] != "data/components/mine/manifests/a.yaml (manifest of mine)" {
		t.Errorf("a manifest that one recipe has: got %q", got)
	}
	edit(t, filepath.Join(data, "components", "cert-manager", "values.yaml"), "3", "2")
	if got := cells(); len(got) != 2 || !strings.Contains(got["h100-eks-training"], "data/components/cert-manager/values.yaml (values of cert-manager)") {
		t.Errorf("values that both recipes have: got %q", got)
	}
	git(t, top, "add", "--all")
	git(t, top, "commit", "--quiet", "--message", "values")
	edit(t, filepath.Join(data, "registry.yaml"), "defaultNamespace: mine", "defaultNamespace: yours")
	if got := cells(); len(got) != 1 || got["mine"] != "data/registry.yaml (entry of mine)" {
		t.Errorf("an entry of the data directory's registry: got %q", got)
	}
}
