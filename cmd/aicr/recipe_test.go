package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

var training = []string{"--service", "eks", "--accelerator", "h100", "--intent", "training"}

func with(args ...string) []string { return append(args, training...) }

// The recipe is the one that the package recipe resolves, in every form, and twice the same bytes.
func TestRecipe(t *testing.T) {
	first := invoke(t, with("recipe")...)
	first.want(t, 0)
	if first.stderr != "" {
		t.Errorf("got on stderr: %s", first.stderr)
	}
	if again := invoke(t, with("recipe")...); again.stdout != first.stdout {
		t.Errorf("twice the same question, and two answers:\n%s\n%s", first.stdout, again.stdout)
	}
	r, err := recipe.ReadResult("stdout", []byte(first.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"base", "monitoring-hpa", "eks", "eks-training", "h100-eks-training"}; !slices.Equal(r.Metadata.AppliedOverlays, want) {
		t.Errorf("got overlays %q, want %q", r.Metadata.AppliedOverlays, want)
	}
	asJSON := invoke(t, with("recipe", "--format", "json")...)
	asJSON.want(t, 0)
	if fromJSON, err := recipe.ReadResult("stdout", []byte(asJSON.stdout)); err != nil || !json.Valid([]byte(asJSON.stdout)) {
		t.Errorf("got %v of\n%s", err, asJSON.stdout)
	} else if text, err := fromJSON.YAML(); err != nil || string(text) != first.stdout {
		t.Errorf("JSON and YAML are not the same recipe: %v", err)
	}
	table := invoke(t, with("recipe", "--format", "table")...)
	table.want(t, 0)
	for _, part := range []string{"eks       h100          training   any", "overlays: base, ", "constraint: K8s.server.version >= ", "gpu-operator   ", "cert-manager, kube-prometheus-stack"} {
		if !strings.Contains(table.stdout, part) {
			t.Errorf("the table lacks %q:\n%s", part, table.stdout)
		}
	}
	file := filepath.Join(t.TempDir(), "recipe.yaml")
	invoke(t, with("recipe", "-o", file)...).want(t, 0)
	if read(t, file) != first.stdout {
		t.Error("the file is not what stdout gets")
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("beside the file there are %v, %v", entries, err)
	}
	// --gpu is --accelerator, and case does not matter.
	if alias := invoke(t, "recipe", "--service", "EKS", "--gpu", "H100", "-i", "training"); alias.stdout != first.stdout {
		t.Errorf("--gpu: got\n%s%s", alias.stdout, alias.stderr)
	}
}

// A recipe for any system is an answer to no question, as of AICR's own program; nodes alone are one.
func TestRecipe_NoCriteria(t *testing.T) {
	for _, args := range [][]string{{"recipe"}, {"recipe", "--service", "any"}, {"query", "--selector", "."}, {"recipe", "-c", write(t, "c.yaml", "apiVersion: aicr.run/v1\nkind: RecipeCriteria\nmetadata: {name: any}\nspec: {intent: any}\n")}} {
		invoke(t, args...).want(t, 2, "no criteria: name at least one of --service")
	}
	invoke(t, "recipe", "--nodes", "4").want(t, 0)
}

func TestRecipeFromCriteriaFile(t *testing.T) {
	file := write(t, "criteria.yaml", "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeCriteria\nspec: {service: eks, accelerator: h100, intent: inference}\n")
	want := invoke(t, with("recipe")...)
	r := invoke(t, "recipe", "--criteria", file, "--intent", "training")
	r.want(t, 0)
	if r.stdout != want.stdout {
		t.Errorf("a flag does not override the file: got\n%s", r.stdout)
	}
	if r := invoke(t, "recipe", "-c", file, "--accelerator", "any", "--intent", "any"); !strings.Contains(r.stdout, "accelerator: any") || !strings.Contains(r.stdout, "service: eks") {
		t.Errorf("any does not override the file: got\n%s%s", r.stdout, r.stderr)
	}
	piped := bench{stdin: read(t, file)}
	if r := piped.run(t, "recipe", "-c", "-", "-i", "training"); r.stdout != want.stdout {
		t.Errorf("from standard input: got\n%s%s", r.stdout, r.stderr)
	}
	bad := write(t, "bad.yaml", "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeCriteria\nspec: {service: eksx}\n")
	invoke(t, "recipe", "-c", bad).want(t, 2, bad+`: spec.service "eksx" is not supported: did you mean "eks"?`)
	invoke(t, "recipe", "-c", filepath.Join(t.TempDir(), "no.yaml")).want(t, 3, "criteria file", "does not exist")
}

func TestRecipe_Invalid(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"accelerator":  {[]string{"--accelerator", "invalid-gpu"}, []string{`--accelerator "invalid-gpu" is not supported: want one of a100, b200, gb200, gb300, h100`, ", any"}},
		"near":         {[]string{"--service", "ekss"}, []string{`--service "ekss" is not supported: did you mean "eks"?`}},
		"format":       {[]string{"--format", "xml"}, []string{`--format "xml": want yaml, json, table`}},
		"nodes":        {[]string{"--nodes", "-1"}, []string{"--nodes -1: want 0"}},
		"argument":     {[]string{"eks"}, []string{"aicr recipe --help"}},
		"directory":    {[]string{"-o", "."}, []string{". is a directory"}},
		"address":      {[]string{"-o", "https://example.com/x"}, []string{"cannot be written to https://example.com/x"}},
		"table in map": {[]string{"-o", "cm://a/b", "--format", "table"}, []string{"nothing can read a table"}},
		"no recipes":   {[]string{"--recipes-dir", "/does/not/exist"}, []string{"/does/not/exist: not a directory"}},
		"no data":      {[]string{"--data", "/does/not/exist"}, []string{"data directory /does/not/exist"}},
		"unwritable":   {[]string{"--service", "eks", "-o", "/does/not/exist/recipe.yaml"}, []string{"write the recipe to /does/not/exist/recipe.yaml: no such file"}},
		"unknown flag": {[]string{"--acelerator", "h100"}, []string{"--acelerator", "did you mean --accelerator?", "aicr recipe --help"}},
	} {
		t.Run(name, func(t *testing.T) {
			invoke(t, append([]string{"recipe"}, c.args...)...).want(t, 2, c.want...)
		})
	}
}

// A criterion that AICR knows, and that no overlay is for, gives the recipe without it, and says
// so.
func TestRecipe_NoOverlay(t *testing.T) {
	r := invoke(t, "recipe", "--service", "eks", "--os", "talos")
	r.want(t, 0, "note: no overlay of these recipes is for os talos")
	if strings.Contains(r.stderr, "eks") {
		t.Errorf("eks has overlays; got %s", r.stderr)
	}
}

// --data lays files over the recipes, and --recipes-dir takes their place; neither depends on the
// working directory.
func TestRecipeData(t *testing.T) {
	data := t.TempDir()
	for name, text := range map[string]string{
		"registry.yaml":          "apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents: []\n",
		"overlays/ncp.yaml":      "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: ncp}\nspec:\n  criteria: {service: ncp}\n  constraints: [{name: a.b.c, value: \"1\"}]\n",
		"overlays/hostile.yaml":  "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: hostile}\nspec:\n  criteria: {service: ncp, intent: training}\n  constraints: [{name: x.y.z, value: \"a\\n::error::owned\"}]\n",
		"components/x/README.md": "no recipe\n",
	} {
		file := filepath.Join(data, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := invoke(t, "recipe", "--service", "ncp", "--data", data)
	r.want(t, 0)
	if !strings.Contains(r.stdout, "- ncp\n") || !strings.Contains(r.stdout, "a.b.c") {
		t.Errorf("got\n%s", r.stdout)
	}
	invoke(t, "recipe", "--service", "ncp").want(t, 2, `--service "ncp" is not supported`)
	hostile := invoke(t, "recipe", "--service", "ncp", "-i", "training", "--data", data)
	hostile.want(t, 0)
	for line := range strings.Lines(hostile.stdout) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("a runner would take this for a command: %s", line)
		}
	}
	if back, err := recipe.ReadResult("stdout", []byte(hostile.stdout)); err != nil || back.Constraints[len(back.Constraints)-1].Value != "a\n::error::owned" {
		t.Errorf("what is made harmless must still say the same: got %v", err)
	}
	own := invoke(t, "query", "--recipes-dir", march, "--service", "eks", "--selector", "criteria.service")
	own.want(t, 0)
	broken := filepath.Join(t.TempDir(), "recipes")
	if err := os.CopyFS(broken, os.DirFS(march)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "overlays", "eks.yaml"), []byte("kind: Pod\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	invoke(t, "recipe", "--recipes-dir", broken).want(t, 2, "overlays/eks.yaml:1: kind is")
	bench{env: map[string]string{"AICR_ACTION_RECIPES_DIR": broken}}.run(t, "recipe").want(t, 2, "overlays/eks.yaml:1: kind is")
	bench{env: map[string]string{"CI": "true"}}.run(t, "recipe", "--service", "eks").want(t, 0)
}

func TestQuery(t *testing.T) {
	const driver = "components.gpu-operator.values.driver"
	for selector, want := range map[string]string{
		driver + ".version":                      "580.105.08\n",
		"." + driver + ".version":                "580.105.08\n",
		"criteria.service":                       "eks\n",
		"criteria.os":                            "any\n",
		driver + ".enabled":                      "true\n",
		"deploymentOrder.0":                      "aws-ebs-csi-driver\n",
		"components.gpu-operator.chart":          "gpu-operator\n",
		"components.gpu-operator.dependencyRefs": "- cert-manager\n- kube-prometheus-stack\n",
	} {
		r := invoke(t, with("query", "--selector", selector)...)
		r.want(t, 0)
		if r.stdout != want {
			t.Errorf("%s: got %q, want %q", selector, r.stdout, want)
		}
	}
	subtree := invoke(t, with("query", "--selector", driver)...)
	if !strings.Contains(subtree.stdout, "version: 580.105.08\n") || strings.Contains(subtree.stdout, "driver:") {
		t.Errorf("got\n%s", subtree.stdout)
	}
	var asJSON struct{ Version string }
	if r := invoke(t, with("query", "--format", "json", "--selector", driver)...); json.Unmarshal([]byte(r.stdout), &asJSON) != nil || asJSON.Version != "580.105.08" {
		t.Errorf("got\n%s", r.stdout)
	}
	if r := invoke(t, with("query", "--format", "json", "--selector", driver+".version")...); r.stdout != "\"580.105.08\"\n" {
		t.Errorf("got %q", r.stdout)
	}
	for _, everything := range []string{"", "."} {
		if r := invoke(t, with("query", "--selector", everything)...); !strings.Contains(r.stdout, "deploymentOrder:") || !strings.Contains(r.stdout, "\ncomponents:\n") {
			t.Errorf("%q: got\n%s", everything, r.stdout)
		}
	}
}

// A path that does not exist has the exit code of a missing object.
func TestQuery_NoSuchPath(t *testing.T) {
	for selector, want := range map[string]string{
		"components.gpu-operator.values.driver.versoin": `there is no "versoin" in components.gpu-operator.values.driver; did you mean "version"?`,
		"components.gpuoperator":                        `did you mean "gpu-operator"? it has aws-ebs-csi-driver, `,
		"deploymentOrder.99":                            `it is a list of 12, numbered from 0`,
		"criteria.service.name":                         `there is no "name" in criteria.service; it is the value eks`,
	} {
		r := invoke(t, with("query", "--selector", selector)...)
		r.want(t, 3, want)
		if strings.Contains(r.stderr, "exit code") {
			t.Errorf("got a reason for an answer: %s", r.stderr)
		}
	}
	invoke(t, with("query")...).want(t, 2, "--selector: name the value")
	invoke(t, with("query", "--selector", ".", "--format", "table")...).want(t, 2, `--format "table"`)
	invoke(t, "query", "--selector", ".", "--service", "x").want(t, 2, `--service "x" is not supported`)
}

func TestExplain(t *testing.T) {
	r := invoke(t, "explain")
	r.want(t, 0)
	for _, part := range []string{"  1  FAILED ", "  2  INVALID_INPUT ", "  3  NOT_FOUND ", "  7  RATE_LIMITED ", "  8  INTERNAL ", "  9  INTERRUPTED "} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("want %q in\n%s", part, r.stdout)
		}
	}
	if strings.Contains(r.stdout, "SCHEDULING_FAILED") {
		t.Errorf("that is another program's:\n%s", r.stdout)
	}
	if r := invoke(t, "explain", "3"); !strings.Contains(r.stdout, "selector") {
		t.Errorf("got\n%s%s", r.stdout, r.stderr)
	}
	invoke(t, "explain", "51").want(t, 2, "no exit code or reason")
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help"}} {
		r := invoke(t, args...)
		r.want(t, 0)
		if !strings.Contains(r.stdout, "\nRecipes:\n") || !strings.Contains(r.stdout, "  recipe ") || strings.Contains(r.stdout, "--settings") {
			t.Errorf("%q: got\n%s", args, r.stdout)
		}
	}
	if r := invoke(t, "version"); !strings.HasPrefix(r.stdout, "aicr   devel") {
		t.Errorf("got %q", r.stdout)
	}
	var v struct{ Version, Go, Platform string }
	if r := invoke(t, "version", "-o", "json"); json.Unmarshal([]byte(r.stdout), &v) != nil || v.Version == "" || v.Go == "" || v.Platform == "" {
		t.Errorf("got %q", r.stdout)
	}
	invoke(t, "frobnicate").want(t, 2, `unknown command "frobnicate"`)
}

func TestCompletion(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"service": {[]string{"recipe", "--service", "e"}, "aks\nbcm\ncks\neks\n"},
		"intent":  {[]string{"query", "--intent", ""}, "inference\ntraining\n:4\n"},
		"format":  {[]string{"recipe", "--format", ""}, "yaml\njson\ntable\n:4\n"},
	} {
		if r := invoke(t, append([]string{"__completeNoDesc"}, c.args...)...); r.code != 0 || !strings.HasPrefix(r.stdout, c.want) {
			t.Errorf("%s: got %q", name, r.stdout)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		invoke(t, "completion", shell).want(t, 0)
	}
}

// Recipes of a release of AICR that is newer than this program are read, and whoever asks for one is told.
func TestRecipe_Newer(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"registry.yaml":      "apiVersion: aicr.run/v1beta1\nkind: ComponentRegistry\ncomponents: []\n",
		"overlays/base.yaml": "apiVersion: aicr.run/v1beta1\nkind: RecipeMetadata\nmetadata: {name: base}\nspec: {}\n",
		"overlays/eks.yaml":  "apiVersion: aicr.run/v9\nkind: RecipeMetadata\nmetadata: {name: eks}\nspec: {base: base, criteria: {service: eks}}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"recipe", "--service", "eks"}, {"query", "--service", "eks", "--selector", "criteria.service"}, {"recipe", "list"}} {
		if r := invoke(t, append(args, "--recipes-dir", dir)...); !strings.Contains(r.stderr, "warning: apiVersion aicr.run/v9 of RecipeMetadata is newer than this tool") {
			t.Errorf("%v: got %s", args, r.stderr)
		}
	}
}
