package chainsaw_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/verify/chainsaw"
)

// test wraps the steps of a Test.
func test(steps string) string {
	return "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: demo}\nspec:\n  steps:\n" + steps
}

const oneAssert = `  - name: one
    try:
    - assert:
        resource:
          apiVersion: v1
          kind: ConfigMap
          metadata: {name: a}
`

// A health check is untrusted too: one whose aliases expand to gigabytes is rejected with its line.
func TestParseAliases(t *testing.T) {
	text := test(oneAssert) + "---\na: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n"
	if _, err := chainsaw.Parse("demo", "ns", "check.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "check.yaml: yaml: line 15: with this alias the document stands for more than 64 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":     {"# only a comment\n", []string{"check.yaml:1: there is no Test"}},
		"not YAML":    {"a: [", []string{"check.yaml: yaml: line 1"}},
		"other kind":  {"apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Configuration\n", []string{`check.yaml:1: it is "chainsaw.kyverno.io/v1alpha1 Configuration"`}},
		"no spec":     {"apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\n", []string{"the Test has no spec"}},
		"no steps":    {"apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nspec: {}\n", []string{"check.yaml:3: spec.steps must be a list with at least one item"}},
		"empty steps": {"apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nspec: {steps: []}\n", []string{"spec.steps must be a list"}},
		"empty try":   {test("  - name: one\n    try: []\n"), []string{"check.yaml:7: try of step one must be a list"}},
		"skipped":     {test(oneAssert) + "  skip: true\n", []string{`check.yaml:13: "skip" is not supported in spec`}},
		"typo":        {test("  - name: one\n    tri: []\n"), []string{`check.yaml:7: "tri" is not supported in a step`, "try of step one must be a list"}},
		"script":      {test(oneAssert + "    - script: {content: 'true'}\n"), []string{`check.yaml:13: "script" is not supported in an operation`}},
		"apply":       {test(oneAssert + "    - apply: {file: a.yaml}\n"), []string{`"apply" is not supported`}},
		"cleanup":     {test("  - cleanup: []\n    try: []\n"), []string{`check.yaml:6: "cleanup" is not supported in a step`}},
		"file":        {test("  - try:\n    - assert: {file: a.yaml}\n"), []string{`check.yaml:7: "file" is not supported in assert`, "assert has no resource"}},
		"two in one": {test("  - try:\n    - assert: {resource: {apiVersion: v1, kind: Pod}}\n      error: {resource: {apiVersion: v1, kind: Pod}}\n"),
			[]string{"check.yaml:7: an operation is either an assert or an error"}},
		"neither":         {test("  - try:\n    - description: nothing\n"), []string{"an operation is either an assert or an error"}},
		"no kind":         {test("  - try:\n    - assert:\n        resource:\n          (`1` == `1`): true\n"), []string{"check.yaml:9: the resource of assert has no apiVersion or no kind"}},
		"only errors":     {test("  - try:\n    - error: {resource: {apiVersion: v1, kind: Pod, status: {phase: Failed}}}\n"), []string{"check.yaml:1: the Test has no assert"}},
		"bad expression":  {test("  - try:\n    - assert:\n        resource: {apiVersion: v1, kind: Pod, status: {'(conditions[)': true}}\n"), []string{"check.yaml:8: assert: ", "conditions["}},
		"written twice":   {test("  - try:\n    - assert: {resource: {apiVersion: v1, kind: Pod}}\n    try: []\n"), []string{`check.yaml:8: "try" is there twice`}},
		"every complaint": {test("  - use: {}\n    try:\n    - wait: {}\n    - sleep: {}\n"), []string{`"use"`, `"wait"`, `"sleep"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chainsaw.Parse("demo", "ns", "check.yaml", []byte(c.text))
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("want %q in:\n%s", part, err)
				}
			}
		})
	}
}

func TestParse_IgnoredFields(t *testing.T) {
	text := strings.Replace(test(oneAssert), "  steps:", "  description: what\n  timeouts: {assert: 5m}\n  catch: [{events: {}}]\n  steps:", 1) +
		"    catch: [{podLogs: {}}]\n---\n" + test(oneAssert)
	c, err := chainsaw.Parse("demo", "ns", "check.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if c.Operations() != 2 {
		t.Errorf("got %d operations, want those of both documents", c.Operations())
	}
}

// Every check that this repository ships parses, and every component has one.
func TestShippedChecks(t *testing.T) {
	registry, err := aicraction.Recipes.ReadFile("recipes/registry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	components := 0
	for _, line := range strings.Split(string(registry), "\n") {
		name, ok := strings.CutPrefix(line, "  - name: ")
		if !ok {
			continue
		}
		components++
		file := "recipes/checks/" + name + "/health-check.yaml"
		data, err := aicraction.Recipes.ReadFile(file)
		if err != nil {
			t.Errorf("component %s has no check: %v", name, err)
			continue
		}
		c, err := chainsaw.Parse(name, "ns", file, data)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if c.Operations() < 1 {
			t.Errorf("%s: %d operations", file, c.Operations())
		}
		if !strings.Contains(string(registry), "assertFile: checks/"+name+"/health-check.yaml") {
			t.Errorf("the registry does not name %s", file)
		}
	}
	dirs, err := os.ReadDir(filepath.Join("..", "..", "..", "recipes", "checks"))
	if err != nil || len(dirs) != components || components < 19 {
		t.Errorf("%d checks for %d components: %v", len(dirs), components, err)
	}
}
