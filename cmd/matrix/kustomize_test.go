package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles writes files below a directory, which it returns.
func writeFiles(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
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

// kustomizeRecipes are a recipes directory with two Kustomize components: own has its files there,
// theirs has them elsewhere.
func kustomizeRecipes(t *testing.T) string {
	t.Helper()
	const head = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: "
	return writeFiles(t, filepath.Join(t.TempDir(), "recipes"), map[string]string{
		"registry.yaml": head + "ComponentRegistry\ncomponents:\n- name: own\n  kustomize: {defaultSource: components/own, defaultPath: .}\n" +
			"- name: theirs\n  kustomize: {defaultSource: 'https://example.com/theirs.git', defaultPath: deploy, defaultTag: v2}\n",
		"overlays/base.yaml":                    head + "RecipeMetadata\nmetadata: {name: base}\nspec: {}\n",
		"overlays/local.yaml":                   head + "RecipeMetadata\nmetadata: {name: local}\nspec:\n  criteria: {service: eks}\n  componentRefs:\n  - {name: own, namespace: own}\n",
		"overlays/remote.yaml":                  head + "RecipeMetadata\nmetadata: {name: remote}\nspec:\n  base: local\n  criteria: {service: eks, intent: training}\n  componentRefs:\n  - {name: theirs, namespace: theirs, patches: [components/own/patch.yaml]}\n",
		"components/own/kustomization.yaml":     "resources: [agent.yaml]\n",
		"components/own/agent.yaml":             agent,
		"components/own/patch.yaml":             "target: {kind: DaemonSet}\npatch: |-\n  - {op: add, path: /spec/template/spec/tolerations, value: [{operator: Exists}]}\n",
		"components/unused/kustomization.yaml":  "resources: ['https://example.com/x']\n",
		"components/unused/kustomization2.yaml": "",
	})
}

const agent = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec:\n  selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n    spec:\n      containers: [{name: agent, image: agent}]\n"

// Files beside the recipes are built without being asked for; a source elsewhere only with the
// directory that stands for it, which is listed.
func TestKustomizeSource(t *testing.T) {
	recipes, out := kustomizeRecipes(t), filepath.Join(t.TempDir(), "out")
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		}
		return string(raw)
	}
	invoke(t, nil, "bundle", "local", "-o", out, "--recipes-dir", recipes).want(t, 0)
	if text := read("own/chart/templates/agent.yaml"); !strings.Contains(text, "name: agent") {
		t.Errorf("own:\n%s", text)
	}
	const source = "https://example.com/theirs.git"
	registry := filepath.ToSlash(recipes) + "/registry.yaml:6: "
	for _, verb := range [][]string{{"bundle", "remote", "-o", out, "--force"}, {"run", "remote"}} {
		invoke(t, nil, append(verb, "--recipes-dir", recipes)...).want(t, 2, registry, `the source of component "theirs", `+source+", at v2, is not in the recipes directory", "--kustomize-source "+source+"=DIRECTORY")
	}
	checkout := writeFiles(t, t.TempDir(), map[string]string{"deploy/kustomization.yaml": "namePrefix: their-\nresources: [agent.yaml]\n", "deploy/agent.yaml": agent, "evil/kustomization.yaml": "resources: ['https://example.com/x']\n"})
	allow := "--kustomize-source=" + source + "=" + checkout
	invoke(t, nil, "bundle", "remote", "-o", out, "--force", "--recipes-dir", recipes, allow).want(t, 0)
	if text := read("theirs/chart/templates/agent.yaml"); !strings.Contains(text, "name: their-agent") || !strings.Contains(text, "operator: Exists") {
		t.Errorf("theirs:\n%s", text)
	}
	edit(t, filepath.Join(checkout, "deploy", "kustomization.yaml"), "[agent.yaml]", "[agent.yaml, ../evil]")
	invoke(t, nil, "bundle", "remote", "-o", out, "--force", "--recipes-dir", recipes, allow).want(t, 2, filepath.ToSlash(checkout)+"/evil/kustomization.yaml:1: ", `"https://example.com/x" is a remote base`)
	for value, want := range map[string]string{
		source: "want SOURCE=DIRECTORY", "": "want SOURCE=DIRECTORY", source + "=" + filepath.Join(checkout, "none"): "none is not a directory that can be read",
		source + "=" + checkout + "\n" + source + "=" + checkout: source + " is given twice",
	} {
		invoke(t, nil, "bundle", "remote", "-o", out, "--recipes-dir", recipes, "--kustomize-source", value).want(t, 2, "--kustomize-source "+strings.TrimSpace(strings.SplitN(value, "=", 2)[0]), want)
	}
}

// A link in a checkout leads nowhere.
func TestKustomizeSourceLinks(t *testing.T) {
	recipes := kustomizeRecipes(t)
	checkout := writeFiles(t, t.TempDir(), map[string]string{"deploy/kustomization.yaml": "resources: [agent.yaml]\n", "agent.yaml": agent})
	if err := os.Symlink(filepath.Join(checkout, "agent.yaml"), filepath.Join(checkout, "deploy", "agent.yaml")); err != nil {
		t.Fatal(err)
	}
	invoke(t, nil, "bundle", "remote", "-o", filepath.Join(t.TempDir(), "out"), "--recipes-dir", recipes, "--kustomize-source=https://example.com/theirs.git="+checkout).
		want(t, 2, filepath.ToSlash(checkout)+"/deploy/kustomization.yaml:1: ", "agent.yaml is a symbolic link")
}

// A Kustomize component is listed as any other; what is missing is the source that was not allowed.
func TestListKustomize(t *testing.T) {
	recipes := kustomizeRecipes(t)
	has := func(r invocationResult, want ...string) {
		t.Helper()
		r.want(t, 0)
		for _, part := range want {
			if !strings.Contains(r.stdout, part) {
				t.Errorf("no %q in\n%s", part, r.stdout)
			}
		}
	}
	has(invoke(t, nil, "list", "recipes", "--recipes-dir", recipes), "local", "remote", "source https://example.com/theirs.git (theirs)")
	has(invoke(t, nil, "list", "components", "-o", "json", "--recipes-dir", recipes), `"type": "Kustomize"`, `"kind": "source"`, `"version": "v2"`)
	runnable := invoke(t, nil, "list", "recipes", "-o", "name", "--runnable", "--recipes-dir", recipes)
	if has(runnable, "local"); strings.Contains(runnable.stdout, "remote") {
		t.Errorf("a recipe without its source is runnable:\n%s", runnable.stdout)
	}
	checkout := writeFiles(t, t.TempDir(), map[string]string{"deploy/kustomization.yaml": "resources: []\n"})
	has(invoke(t, nil, "list", "recipes", "-o", "name", "--runnable", "--recipes-dir", recipes, "--kustomize-source=https://example.com/theirs.git="+checkout), "local", "remote")
}
