package inspect

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const root = "../../../"

// builtIn has the files of this repository that a schema is for.
var builtIn = map[string][]string{
	"overlay":  {"recipes/overlays/*.yaml"},
	"mixin":    {"recipes/mixins/*.yaml"},
	"registry": {"recipes/registry.yaml"},
	"workflow": {"workflows/*.yaml", "workflows/gangs/*.yaml", "workflows/training/*.yaml"},
	"profile":  {"kwok/profiles/*.yaml"},
	"settings": {".settings.yaml"},
}

func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := schemaNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name+schemaSuffix, doc); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile(name + schemaSuffix)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, raw)
	}
	return out
}

func parsed(t *testing.T, raw []byte) any {
	t.Helper()
	text, err := yaml.YAMLToJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every file of this repository has its schema, and the schema sees a misspelt field of it.
func TestBuiltInFiles(t *testing.T) {
	for name, patterns := range builtIn {
		t.Run(name, func(t *testing.T) {
			schema, files := compiled(t, name), 0
			for _, pattern := range patterns {
				found, err := filepath.Glob(root + pattern)
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range found {
					raw, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if name == "workflow" && !bytes.Contains(raw, []byte("\ntasks:")) {
						continue
					}
					files++
					if err := schema.Validate(parsed(t, raw)); err != nil {
						t.Errorf("%s: %v", file, err)
					}
				}
			}
			if files == 0 {
				t.Errorf("no file of %q", patterns)
			}
		})
	}
}

// A results file of a green and a red cell has the schema, and one with a value of another type has
// not. Fields that it does not name are allowed: a later release may write more.
func TestResults(t *testing.T) {
	red := result.Result{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Warnings: []string{"w"}, Phases: []result.Phase{{Name: "sync", Duration: time.Second}}}
	red.Verdict = result.VerdictOf(reason.New(reason.DeployFailed, "no"))
	green := result.Result{Cell: result.Cell{Recipe: "eks", Deployer: "flux-oci"}}
	green.Status = result.Passed
	r := &report.Report{Meta: report.Meta{Started: time.Now(), Written: time.Now()}, Results: []result.Result{red, green}}
	var text bytes.Buffer
	if err := r.WriteCTRF(&text); err != nil {
		t.Fatal(err)
	}
	schema := compiled(t, "results")
	if err := schema.Validate(parsed(t, text.Bytes())); err != nil {
		t.Error(err)
	}
	bad := bytes.Replace(text.Bytes(), []byte(`"warnings":`), []byte(`"more": 1, "pods": "x", "warnings":`), 1)
	if bytes.Equal(bad, text.Bytes()) || schema.Validate(parsed(t, bad)) == nil {
		t.Errorf("pods that are a text pass: %s", bad)
	}
}

// A misspelt field, a value of the wrong type and a header of another kind are seen at any depth.
func TestMisspelt(t *testing.T) {
	header := func(version, kind string) string { return "apiVersion: " + version + "\nkind: " + kind + "\n" }
	overlay := header("aicr.run/v1beta1", "RecipeMetadata") + "metadata: {name: a}\nspec:\n  componentRefs:\n  - {name: x, version: 1.30}\n"
	for name, tc := range map[string]struct{ schema, good, from, to string }{
		"overlay":           {"overlay", overlay, "componentRefs", "componentRef"},
		"overlay, deep":     {"overlay", overlay, "version:", "versoin:"},
		"overlay, type":     {"overlay", overlay, "[]", "x"},
		"overlay, version":  {"overlay", overlay, "aicr.run/v1beta1", "aicr.run/v9"},
		"overlay, kind":     {"overlay", overlay, "RecipeMetadata", "RecipeMixin"},
		"profile":           {"profile", header("aicr.nvidia.com/v1alpha1", "KWOKNodeProfile") + "spec: {gpu: {count: 8}}\n", "count", "cuont"},
		"workflow":          {"workflow", "name: a\ntasks:\n- {id: a, type: Sleep, params: {timeout: 5s}}\n", "timeout", "timeuot"},
		"workflow, type":    {"workflow", "name: a\ntasks:\n- {id: a, type: Sleep, params: {timeout: 5s}}\n", "Sleep", "Sleeep"},
		"workflow, other's": {"workflow", "name: a\ntasks:\n- {id: a, type: DeleteObj, params: {refTaskId: b}}\n", "DeleteObj", "Sleep"},
		"ignored checks":    {"ignored-checks", "ignore:\n- {check: MX101, reason: why}\n", "reason", "resaon"},
		"ignored, typo":     {"ignored-checks", "ignore:\n- {check: MX101, reason: why}\n", "ignore", "ignroe"},
		"settings":          {"settings", "go: {minimum: 1.26}\n", "minimum", "minimun"},
		"registry":          {"registry", header("aicr.run/v1alpha2", "ComponentRegistry") + "components: [{name: a, helm: {defaultChart: b}}]\n", "defaultChart", "chart"},
		"criteria":          {"criteria", header("aicr.run/v1", "RecipeCriteria") + "spec: {service: eks}\n", "service", "servise"},
		"recipe":            {"recipe", header("aicr.run/v1", "RecipeResult") + "deploymentOrder: [a]\n", "deploymentOrder", "order"},
	} {
		schema := compiled(t, tc.schema)
		if err := schema.Validate(parsed(t, []byte(tc.good))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		bad := strings.Replace(tc.good, tc.from, tc.to, 1)
		if tc.from == "[]" {
			bad = strings.Replace(tc.good, "componentRefs:\n  - {name: x, version: 1.30}", "componentRefs: x", 1)
		}
		if err := schema.Validate(parsed(t, []byte(bad))); err == nil {
			t.Errorf("%s: %q passes", name, bad)
		}
	}
	if _, err := schemaNamed("overlays"); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("got %v", err)
	}
}

// A schema is for programs of others: it says which dialect it is of, and what it describes.
func TestJSON(t *testing.T) {
	for _, s := range allSchema() {
		raw, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			Schema string `json:"$schema"`
			Title  string
		}
		if err := json.Unmarshal(raw, &head); err != nil || head.Schema != "https://json-schema.org/draft/2020-12/schema" || !strings.HasPrefix(head.Title, s.Name+" (") {
			t.Errorf("%s: %+v, %v", s.Name, head, err)
		}
	}
}
