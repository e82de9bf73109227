package intact

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// templateLine returns the first line of an object's template that has a key, or else its kind; 0 if
// there is none.
func templateLine(installs []bundle.Install, o *bundle.Object, key string) int {
	if key == "" {
		return 0
	}
	return lineOf(bundle.TemplateOf(installs, o), o, key)
}

// lineOf looks into the object's own document of a template first.
func lineOf(text string, o *bundle.Object, key string) int {
	lines := strings.Split(text, "\n")
	first, end := manifestline.Document(text, manifestline.Object{Kind: o.Object.GetKind(), Name: o.Object.GetName()})
	for _, in := range [][2]int{{first, end}, {0, len(lines)}} {
		for _, expr := range []string{`(?:^|[\s{,\[("'-])` + regexp.QuoteMeta(key) + `["']?\s*:`, kindPattern(o)} {
			pattern, err := regexp.Compile(expr)
			if err != nil {
				return 0
			}
			for n := in[0]; n < in[1]; n++ {
				if pattern.MatchString(lines[n]) {
					return n + 1
				}
			}
		}
	}
	return 0
}

// unknownFormat is what the API server says of a definition's schema, without the field.
var unknownFormat = regexp.MustCompile(`^unrecognized format "([^"]+)"`)

// formatIn returns the first property in the schemas of a definition that has a format, and its line; 0 if the
// template is no YAML, or the object is none of it.
func formatIn(text string, o *bundle.Object, format string) (path string, line int) {
	docs, err := yamlx.Documents([]byte(text))
	if err != nil {
		return "", 0
	}
	for _, doc := range docs {
		if len(doc.Content) != 1 || yamlx.Text(doc.Content[0], "metadata", "name") != o.Object.GetName() {
			continue
		}
		versions := yamlx.Find(doc.Content[0], "spec", "versions")
		for i := 0; versions != nil && i < len(versions.Content); i++ {
			v := versions.Content[i]
			if at, line := formatBelow(yamlx.Find(v, "schema", "openAPIV3Schema"), format); line > 0 {
				return yamlx.Text(v, "name") + at, line
			}
		}
	}
	return "", 0
}

// formatBelow looks into a schema.
func formatBelow(schema *yaml.Node, format string) (path string, line int) {
	if n := yamlx.Find(schema, "format"); n != nil && n.Value == format {
		return "", n.Line
	}
	properties := yamlx.Find(schema, "properties")
	for _, name := range yamlx.Keys(properties) {
		if at, line := formatBelow(yamlx.Find(properties, name), format); line > 0 {
			return "." + name + at, line
		}
	}
	for _, below := range [][2]string{{"items", "[]"}, {"additionalProperties", ".*"}} {
		if n := yamlx.Find(schema, below[0]); n != nil {
			if at, line := formatBelow(n, format); line > 0 {
				return below[1] + at, line
			}
		}
	}
	return "", 0
}

func kindPattern(o *bundle.Object) string {
	return `(?:^|[\s{,"'])kind["']?\s*:\s*["']?` + regexp.QuoteMeta(o.Object.GetKind()) + `\b`
}
