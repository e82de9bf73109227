package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const configHead = "apiVersion: aicr.run/v1beta1\nkind: AICRConfig\nspec:\n"

// The file stands for flags, and flags win.
func TestRecipeConfig(t *testing.T) {
	out := filepath.Join(t.TempDir(), "recipe.yaml")
	file := write(t, "config.yaml", configHead+"  recipe:\n    criteria: {service: eks, accelerator: h100, intent: training}\n    output: {path: "+out+"}\n")
	want := invoke(t, with("recipe")...)
	invoke(t, "recipe", "--config", file).want(t, 0)
	if read(t, out) != want.stdout {
		t.Errorf("got\n%s", read(t, out))
	}
	if r := invoke(t, "recipe", "--config", file, "-o", "-", "--intent", "inference"); !strings.Contains(r.stdout, "intent: inference") {
		t.Errorf("a flag does not win: got\n%s%s", r.stdout, r.stderr)
	}
	if r := (bench{stdin: read(t, file)}).run(t, "query", "--config", "-", "--selector", "criteria.service"); r.stdout != "eks\n" {
		t.Errorf("got %q, %s", r.stdout, r.stderr)
	}
	// A document of criteria replaces those of the file, all of them.
	doc := write(t, "criteria.yaml", "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeCriteria\nspec: {service: gke, os: cos}\n")
	if r := invoke(t, "query", "--config", file, "--criteria", doc, "--selector", "criteria"); !strings.Contains(r.stdout, "service: gke") || !strings.Contains(r.stdout, "accelerator: any") {
		t.Errorf("got %q, %s", r.stdout, r.stderr)
	}
	other := write(t, "config.yaml", configHead+"  verify: {}\n")
	invoke(t, "recipe", "--config", other, "--service", "eks").want(t, 0, other+" has nothing for aicr recipe")
	for name, c := range map[string]struct {
		text, want string
		code       int
	}{
		"criterion": {"  recipe:\n    criteria:\n      service: eksx\n", `config.yaml:6: spec.recipe.criteria.service: --service "eksx" is not supported: did you mean "eks"?`, 2},
		"profile":   {"  recipe:\n    profile: nonsense\n", "config.yaml:5: spec.recipe.profile: --profile: ", 2},
		"nodes":     {"  recipe: {criteria: {nodes: -1}}\n", "config.yaml:4: spec.recipe.criteria.nodes: --nodes -1: want 0", 2},
		"strict":    {"  recipe: {criteriaStrict: 7}\n", "config.yaml:4: spec.recipe.criteriaStrict must be true or false", 2},
		"snapshot":  {"  recipe: {input: {snapshot: none.yaml}}\n", "snapshot file none.yaml does not exist", 3},
	} {
		t.Run(name, func(t *testing.T) {
			invoke(t, "recipe", "--config", write(t, "config.yaml", configHead+c.text)).want(t, c.code, c.want)
		})
	}
	invoke(t, "recipe", "--config", "cm://a/b").want(t, 2, "--config cm://a/b: it is read from a file")
	invoke(t, "recipe", "--config", "none.yaml").want(t, 3, "config file none.yaml does not exist")
}

// data is a data directory with an overlay for a service that AICR does not know.
func data(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"registry.yaml":     "apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents: []\n",
		"overlays/ncp.yaml": "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: ncp}\nspec:\n  criteria: {service: ncp}\n  constraints: [{name: a.b.c, value: \"1\"}]\n",
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

// --criteria-strict leaves the values that recipe files add out.
func TestCriteriaStrict(t *testing.T) {
	dir := data(t)
	args := []string{"recipe", "--service", "ncp", "--data", dir}
	invoke(t, args...).want(t, 0)
	invoke(t, append(args, "--criteria-strict")...).want(t, 2, `--service "ncp" is not supported`, "--criteria-strict: values that recipe files add do not count")
	bench{env: map[string]string{"AICR_CRITERIA_STRICT": "1"}}.run(t, args...).want(t, 2, "--criteria-strict")
	invoke(t, append(args, "--config", write(t, "c.yaml", configHead+"  recipe: {criteriaStrict: true}\n"))...).want(t, 2, "--criteria-strict")
	// What AICR knows since July is no mistake, whether or not an overlay is for it.
	invoke(t, "recipe", "--service", "metal3", "--platform", "runai", "--criteria-strict").want(t, 0, "note: no overlay of these recipes is for service metal3", "platform runai")
}

// The list has each overlay but the root, what is a leaf, and where it is from.
func TestRecipeList(t *testing.T) {
	table := invoke(t, "recipe", "list", "--service", "eks", "--intent", "training", "--gpu", "h100")
	table.want(t, 0)
	for _, part := range []string{"NAME ", "LEAF", "h100-eks-training ", " no ", "h100-eks-ubuntu-training-kubeflow", " yes ", " embedded"} {
		if !strings.Contains(table.stdout, part) {
			t.Errorf("the table lacks %q:\n%s", part, table.stdout)
		}
	}
	if strings.Contains(table.stdout, "gb200") || strings.Contains(table.stdout, "inference") {
		t.Errorf("the filter keeps too much:\n%s", table.stdout)
	}
	names := invoke(t, "recipe", "list", "--format", "name")
	names.want(t, 0)
	if lines := strings.Fields(names.stdout); len(lines) < 10 || strings.Contains("\n"+names.stdout, "\nbase\n") || !strings.Contains(names.stdout, "eks\n") {
		t.Errorf("got %q", names.stdout)
	}
	asJSON := invoke(t, "recipe", "list", "--service", "ncp", "--format", "json", "--data", data(t))
	if want := `{"name":"ncp","criteria":{"Service":"ncp","Accelerator":"any","Intent":"any","OS":"any","Platform":"any","Nodes":0},"is_leaf":true,"source":"external"}`; !strings.Contains(strings.Join(strings.Fields(asJSON.stdout), ""), want) {
		t.Errorf("got %s%s", asJSON.stdout, asJSON.stderr)
	}
	if r := invoke(t, "recipe", "list", "-t", "yaml", "--service", "lke"); strings.TrimSpace(r.stdout) != "[]" {
		t.Errorf("nothing: got %q, %s", r.stdout, r.stderr)
	}
	invoke(t, "recipe", "list", "--service", "x").want(t, 2, `--service "x" is not supported`)
	invoke(t, "recipe", "list", "--format", "xml").want(t, 2, `--format "xml": want table, json, yaml, name`)
	if r := invoke(t, "__completeNoDesc", "recipe", "list", "--format", ""); !strings.HasPrefix(r.stdout, "table\njson\nyaml\nname\n") {
		t.Errorf("completion: got %q", r.stdout)
	}
}
