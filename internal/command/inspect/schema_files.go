package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// schemaSuffix is the end of a schema's file.
const schemaSuffix = ".schema.json"

// schema is one of the schemas.
type schema struct {
	Name string
	// Describes says which files it is for.
	Describes string
	make      func() map[string]any
}

// allSchema are all schemas, in the order in which help lists them.
func allSchema() []schema {
	all := []schema{}
	for _, f := range []struct{ name, describes string }{
		{"overlay", "recipes/overlays/*.yaml"}, {"mixin", "recipes/mixins/*.yaml"}, {"registry", "recipes/registry.yaml"},
		{"criteria", "a query of aicr recipe"}, {"recipe", "a resolved recipe, as aicr recipe writes it"},
	} {
		format := recipe.Formats()[len(all)]
		all = append(all, schema{f.name, f.describes, func() map[string]any { return recipeSchema(format) }})
	}
	return append(all,
		schema{"workflow", "matrix workflow run", workflowSchema},
		schema{"profile", "--profiles DIR: a kind of simulated nodes", profileSchema},
		schema{"settings", ".settings.yaml, and --settings FILE", func() map[string]any { return loose(reflected(cli.Settings{}, "json", false)) }},
		schema{"ignored-checks", judge.IgnoreFile + ", and --ignore-file FILE", func() map[string]any { return reflected(judge.IgnoreList{}, "yaml", false) }},
		schema{"results", report.FileName, resultsSchema},
	)
}

// JSON is the text of a schema.
func (s schema) JSON() ([]byte, error) {
	made := s.make()
	made["title"] = s.Name + " (" + s.Describes + ")"
	raw, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema %s: %w", s.Name, err)
	}
	return append(raw, '\n'), nil
}

// schemaNamed finds a schema by its name.
func schemaNamed(name string) (schema, error) {
	var names []string
	for _, s := range allSchema() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	hint := lists.Hint(name, names)
	if hint != "" {
		hint = "; " + hint
	}
	return schema{}, fmt.Errorf("unknown schema %q: there are %s%s", name, strings.Join(names, ", "), hint)
}

// reflected is the schema of a type, by the names that a tag gives its fields. More says whether an
// object may have fields that it does not have.
func reflected(value any, tag string, more bool) map[string]any {
	r := &jsonschema.Reflector{
		FieldNameTag: tag, RequiredFromJSONSchemaTags: true, AllowAdditionalProperties: more, ExpandedStruct: true, Anonymous: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[yaml.Node](), reflect.TypeFor[json.RawMessage]():
				return &jsonschema.Schema{}
			case reflect.TypeFor[yamlx.Duration]():
				return &jsonschema.Schema{Type: "string"}
			}
			return nil
		},
		Namer: func(t reflect.Type) string {
			name, _, _ := strings.Cut(t.Name(), "[")
			return strings.TrimPrefix(t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]+"."+name, ".")
		},
	}
	raw, err := json.Marshal(r.Reflect(value))
	made := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &made)
	}
	if err != nil {
		panic(fmt.Sprintf("schema of %T: %v", value, err)) // a mistake in a type of this program, found by any test
	}
	return made
}

// loose lets a text be any scalar, as the readers of YAML do: a version 1.30 without quotes is a text.
// A key without a value is as none.
func loose(s map[string]any) map[string]any {
	for _, v := range s {
		walk(v, func(m map[string]any) {
			switch m["type"] {
			case "string":
				if m["enum"] == nil && m["const"] == nil {
					m["type"] = []any{"string", "number", "boolean", "null"}
				}
			case "object", "array", "boolean", "integer", "number":
				m["type"] = []any{m["type"], "null"}
			}
		})
	}
	return s
}

func walk(v any, see func(map[string]any)) {
	switch x := v.(type) {
	case map[string]any:
		for _, child := range x {
			walk(child, see)
		}
		see(x)
	case []any:
		for _, child := range x {
			walk(child, see)
		}
	}
}

// oneOf makes a field of a document one of some texts.
func oneOf(s map[string]any, field string, values ...string) {
	properties, _ := s["properties"].(map[string]any)
	properties[field] = map[string]any{"type": "string", "enum": values}
	required, _ := s["required"].([]any)
	s["required"] = append(required, field)
}

func recipeSchema(f recipe.Format) map[string]any {
	s := loose(reflected(f.Value, "json", false))
	oneOf(s, "apiVersion", document.ApiVersions(f.Kind)...)
	kinds := []string{f.Kind}
	if slices.Contains(document.CriteriaKinds, f.Kind) {
		kinds = document.CriteriaKinds
	}
	oneOf(s, "kind", kinds...)
	return s
}

func profileSchema() map[string]any {
	s := loose(reflected(simulate.Profile{}, "yaml", false))
	oneOf(s, "apiVersion", document.APIVersion)
	oneOf(s, "kind", simulate.ProfileKind)
	return s
}

// workflowSchema has the params of each type of task.
func workflowSchema() map[string]any {
	file, task, params := workflow.Format()
	s, one := loose(reflected(file, "yaml", false)), loose(reflected(task, "yaml", false))
	types := slices.Sorted(maps.Keys(params))
	oneOf(one, "type", types...)
	var rules []any
	defs := map[string]any{}
	for _, name := range types {
		made := loose(reflected(params[name], "yaml", false))
		for def, schema := range definitions(made) {
			defs[def] = schema
		}
		delete(made, "$schema")
		made["type"] = []any{"object", "null"}
		rules = append(rules, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"type": map[string]any{"const": name}}},
			"then": map[string]any{"properties": map[string]any{"params": made}},
		})
	}
	delete(one, "$schema")
	one["allOf"] = rules
	s["$defs"] = defs
	s["properties"].(map[string]any)["tasks"] = map[string]any{"type": "array", "items": one}
	s["required"] = []any{"name", "tasks"}
	return s
}

// resultsSchema is that of a report, whose tests have all that is known of their cells.
func resultsSchema() map[string]any {
	file, cell := report.Format()
	s, extra := reflected(file, "json", true), reflected(cell, "json", true)
	defs := definitions(s)
	for name, def := range definitions(extra) {
		defs[name] = def
	}
	delete(extra, "$schema")
	defs["cell"] = extra
	defs["testreport.Test"].(map[string]any)["properties"].(map[string]any)["extra"] = map[string]any{"$ref": "#/$defs/cell"}
	s["$defs"] = defs
	return s
}

// definitions takes the definitions out of a schema.
func definitions(s map[string]any) map[string]any {
	defs, _ := s["$defs"].(map[string]any)
	delete(s, "$defs")
	if defs == nil {
		defs = map[string]any{}
	}
	return defs
}
