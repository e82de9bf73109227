package recipe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// What Resolve gives and YAML and JSON print comes back as it was, and makes the same components.
func TestReadResult(t *testing.T) {
	s := full(t)
	r, err := s.Resolve(Criteria{Service: "eks", Intent: "training", Accelerator: "h100"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Components(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.YAML()
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"yaml": text, "json": asJSON} {
		read, err := ReadResult("recipe."+name, data)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, data)
		}
		again, err := read.YAML()
		if err != nil || string(again) != string(text) {
			t.Errorf("%s: got %v and\n%s\nwant\n%s", name, err, again, text)
		}
		got, err := s.Components(read)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v and other components:\n%+v\nwant\n%+v", name, err, got, want)
		}
	}
}

// A result of AICR's own program has metadata that this one does not write.
func TestReadResult_OfAICR(t *testing.T) {
	r, err := ReadResult("r.yaml", []byte(resultText("  version: v0.11.0\n  created: 2026-01-01T00:00:00Z\n", "")))
	if err != nil || !slices.Equal(r.Metadata.AppliedOverlays, []string{"base"}) || r.ComponentRefs[0].Name != "a" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func resultText(metadata, rest string) string {
	return `apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeResult
metadata:
  appliedOverlays: [base]
` + metadata + `componentRefs:
- name: a
  type: Helm
deploymentOrder: [a]
` + rest
}

func TestReadResult_Invalid(t *testing.T) {
	good := resultText("", "")
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "r.yaml: the file is empty"},
		"an overlay":      {strings.Replace(good, "RecipeResult", "RecipeMetadata", 1), `r.yaml:2: kind is "RecipeMetadata" but must be "RecipeResult"`},
		"another version": {strings.Replace(good, "v1alpha1", "v9", 1), `r.yaml:1: apiVersion is "aicr.nvidia.com/v9"`},
		"truncated":       {good[:len(good)-20], "r.yaml:"},
		"HTML":            {"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "r.yaml:1: the document must be a RecipeResult mapping"},
		"a bomb":          {bomb, "stands for more than 64 MiB"},
		"unknown field":   {good + "componentsRef: []\n", `r.yaml:9: unknown field "componentsRef" in the document: did you mean "componentRefs"?`},
		"two documents":   {good + "---\n" + good, "a second YAML document starts here"},
		"no overlays":     {strings.Replace(good, "[base]", "[]", 1), "r.yaml:4: metadata.appliedOverlays must list"},
		"overlay as path": {strings.Replace(good, "[base]", "[../x]", 1), `r.yaml:4: "../x" is not a name for an overlay`},
		"name as path":    {strings.ReplaceAll(good, "name: a", "name: ../a"), `r.yaml:6: "../a" is not a name for a component`},
		"shell":           {strings.Replace(good, "type: Helm", "namespace: a; rm -rf /", 1), `r.yaml:7: "a; rm -rf /" of component "a" is not a namespace`},
		"flag as a chart": {strings.Replace(good, "type: Helm", "chart: --post-renderer=x", 1), `r.yaml:7: "--post-renderer=x" of component "a" is not a chart's name`},
		"unknown type":    {strings.Replace(good, "type: Helm", "type: Script", 1), `r.yaml:7: type of component "a" is "Script"`},
		"not in order":    {strings.Replace(good, "[a]", "[]", 1), `r.yaml:6: component "a" is not in deploymentOrder`},
		"order of others": {strings.Replace(good, "[a]", "[a, b]", 1), `r.yaml:8: deploymentOrder names "b"`},
		"order twice":     {strings.Replace(good, "[a]", "[a, a]", 1), `r.yaml:8: deploymentOrder names "a" twice`},
		"component twice": {strings.Replace(good, "deploymentOrder", "- name: a\ndeploymentOrder", 1), `r.yaml:8: component "a" is already on line 6`},
		"no components":   {strings.Replace(good, "- name: a\n  type: Helm\n", "  []\n", 1), "has no componentRefs"},
	} {
		start := time.Now()
		_, err := ReadResult("r.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

// A file that a result names must be inside the recipes directory.
func TestResult_FilesInside(t *testing.T) {
	dir := t.TempDir()
	recipes := filepath.Join(dir, "recipes")
	if err := os.CopyFS(recipes, os.DirFS("testdata/valid-minimal")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret.yaml"), []byte("password: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(os.DirFS(recipes), recipes)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(Criteria{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../secret.yaml", filepath.Join(dir, "secret.yaml")} {
		for _, field := range []*string{&r.ComponentRefs[0].ValuesFile} {
			*field = path
		}
		text, err := r.YAML()
		if err != nil {
			t.Fatal(err)
		}
		read, err := ReadResult("r.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Components(read); err == nil || !strings.Contains(err.Error(), "not a plain path inside the recipes directory") {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestReadCriteria(t *testing.T) {
	head := "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeCriteria\n"
	c, err := ReadCriteria("c.yaml", []byte(head+"metadata: {name: mine}\nspec: {service: eks, os: ubuntu, accelerator: gb200, intent: training, platform: kubeflow, nodes: 8}\n"))
	if want := (Criteria{Service: "eks", Accelerator: "gb200", Intent: "training", OS: "ubuntu", Platform: "kubeflow", Nodes: 8}); err != nil || c != want {
		t.Errorf("got %+v, %v", c, err)
	}
	if c, err := ReadCriteria("c.yaml", []byte(strings.Replace(head, "Recipe", "recipe", 1)+"spec: {service: eks}\n")); err != nil || c.Service != "eks" {
		t.Errorf("the older spelling: got %+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"":                                   "c.yaml: the file is empty; write a RecipeCriteria document",
		"kind: Pod\n":                        `c.yaml:1: kind is "Pod" but must be "RecipeCriteria"`,
		head + "spec: {gpus: 8}\n":           `c.yaml:3: unknown field "gpus" in spec`,
		head + "spec:\n  nodes: -1\n":        "c.yaml:4: spec.nodes is -1",
		head + "spec: {nodes: many}\n":       "c.yaml:3: spec.nodes must be a whole number",
		head + "spec: {service: [eks, gke]}": "c.yaml:3: spec.service must be a string, not a list",
	} {
		if _, err := ReadCriteria("c.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestCheckCriteria(t *testing.T) {
	s := full(t)
	for _, c := range []Criteria{{}, {Service: Any}, {Service: "lke"}, {Accelerator: "h100", Intent: "training", OS: "ubuntu", Platform: "dynamo", Nodes: 3}} {
		if err := s.CheckCriteria(c); err != nil {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	var unknown *UnknownValueError
	err := s.CheckCriteria(Criteria{Accelerator: "h10"})
	if !errors.As(err, &unknown) || !strings.HasPrefix(err.Error(), `accelerator "h10" is not supported: did you mean "h100"? want one of a100, b200, gb200, `) || !strings.HasSuffix(err.Error(), ", any") {
		t.Errorf("got %v", err)
	}
	// The recipes directory has further values.
	for name, own := range s.CriteriaValues() {
		for _, v := range own {
			c := Criteria{}
			*c.Fields()[slices.Index([]string{"service", "accelerator", "intent", "os", "platform"}, name)] = v
			if err := s.CheckCriteria(c); err != nil {
				t.Errorf("%s %s has an overlay: got %v", name, v, err)
			}
		}
	}
}

func TestUnused(t *testing.T) {
	s := full(t)
	r, err := s.Resolve(Criteria{Service: "eks", Intent: "training", OS: "talos"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Unused(r); !slices.Equal(got, []string{"os talos"}) {
		t.Errorf("got %q", got)
	}
}

// BenchmarkResolve is a recipe from criteria, after its files were loaded. It should stay below 10
// ms.
func BenchmarkResolve(b *testing.B) {
	s, err := Open(os.DirFS("../../recipes"), "recipes")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := s.Resolve(Criteria{Service: "eks", Accelerator: "h100", Intent: "training", OS: "ubuntu", Platform: "kubeflow"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.YAML(); err != nil {
			b.Fatal(err)
		}
	}
}
