package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

//go:embed fields.yaml
var fieldsFile []byte

// fieldsOf are the fields of the spec of one or more CRDs: see fields.yaml.
type fieldsOf struct {
	Of    string         `json:"of"`    // the original, for people
	Files []string       `json:"files"` // of the CRDs, below the directory of the charts
	Spec  map[string]any `json:"spec"`
}

func readFields() ([]fieldsOf, error) {
	var all []fieldsOf
	if err := yaml.UnmarshalStrict(fieldsFile, &all); err != nil {
		return nil, fmt.Errorf("fields.yaml: %w", err)
	}
	return all, nil
}

// writeFields writes the schemas of all specs into the CRDs below a directory.
func writeFields(dir string) error {
	all, err := readFields()
	if err != nil {
		return err
	}
	for _, f := range all {
		for _, name := range f.Files {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if text, err = f.into(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// Where the schema of a spec starts in the file of a CRD, which may be a template with lines that
// are no YAML. What is below it is indented by more.
const (
	specIndent = "            "
	specLine   = specIndent + "spec:\n"
)

// into gives a CRD's text with the schema of the spec.
func (f fieldsOf) into(text []byte) ([]byte, error) {
	schema, err := schemaOf(f.Spec)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := yamlv3.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(schema); err != nil {
		return nil, err
	}
	for _, before := range []string{"the fields that recipes use; any other is kept", "any field of its spec is kept", "any field is kept"} {
		text = bytes.Replace(text, []byte("(simulated stand-in: "+before), []byte("(simulated stand-in: the fields of the original"), 1)
	}
	start := bytes.Index(text, []byte("\n"+specLine))
	if start < 0 {
		return nil, errors.New("no schema of a spec is found")
	}
	start += 1 + len(specLine)
	end := start
	for _, line := range bytes.SplitAfter(text[start:], []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(specIndent+" ")) {
			break
		}
		end += len(line)
	}
	var indented strings.Builder
	for line := range strings.Lines(out.String()) {
		indented.WriteString(specIndent + "  " + line)
	}
	return slices.Concat(text[:start], []byte(indented.String()), text[end:]), nil
}

// schemaOf turns a type of fields.yaml into a structural schema. A kind that charts render has no
// defaults: what they fill in would differ from what was rendered, and Argo CD would call that drift.
func schemaOf(field any) (map[string]any, error) {
	switch v := field.(type) {
	case string:
		if kind, fallback, ok := strings.Cut(v, "="); ok {
			return withDefault(kind, fallback)
		}
		if strings.Contains(v, "|") {
			return map[string]any{"type": "string", "enum": strings.Split(v, "|")}, nil
		}
		if limited := limitedType(v); limited != nil {
			return limited, nil
		}
		switch v {
		case "string", "integer", "boolean", "number":
			return map[string]any{"type": v}, nil
		case "int-or-string":
			return map[string]any{"x-kubernetes-int-or-string": true}, nil
		case "any":
			return map[string]any{"x-kubernetes-preserve-unknown-fields": true}, nil
		}
	case []any:
		if len(v) == 1 {
			items, err := schemaOf(v[0])
			return map[string]any{"type": "array", "items": items}, err
		}
	case map[string]any:
		return objectSchema(v)
	}
	return nil, fmt.Errorf("%v is no type", field)
}

// limitedType is the schema of a type that many originals limit in the same way; nil if it is another.
func limitedType(name string) map[string]any {
	text := func(pattern string) map[string]any { return map[string]any{"type": "string", "pattern": pattern} }
	switch name {
	case "duration": // of Prometheus, which has days, weeks and years
		return text(`^(0|([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?)$`)
	case "hours": // of Go, as far as Alertmanager's
		return text(`^(0|([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?)$`)
	case "size":
		return text(`^(0|([0-9]*[.])?[0-9]+([KMGTPE]i?)?B)$`)
	case "url":
		return text(`^https?://.+$`)
	case "proxy-url":
		return text(`^(https?|socks5)://.+$`)
	case "quantity":
		return map[string]any{
			"x-kubernetes-int-or-string": true, "anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}},
			"pattern": `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?$`,
		}
	case "port":
		return map[string]any{"type": "integer", "minimum": 1, "maximum": 65535}
	case "positive":
		return map[string]any{"type": "integer", "minimum": 1}
	case "tls-version":
		return map[string]any{"type": "string", "enum": []string{"TLS10", "TLS11", "TLS12", "TLS13"}}
	case "relabel-action": // in either case
		return map[string]any{"type": "string", "enum": []string{
			"replace", "Replace", "keep", "Keep", "drop", "Drop", "hashmod", "HashMod", "labelmap", "LabelMap", "labeldrop", "LabelDrop", "labelkeep", "LabelKeep",
			"lowercase", "Lowercase", "uppercase", "Uppercase", "keepequal", "KeepEqual", "dropequal", "DropEqual",
		}}
	}
	return nil
}

// withDefault is the schema of a string or an integer that has a default.
func withDefault(kind, fallback string) (map[string]any, error) {
	switch kind {
	case "string":
		return map[string]any{"type": kind, "default": fallback}, nil
	case "integer":
		n, err := strconv.Atoi(fallback)
		return map[string]any{"type": kind, "default": n}, err
	}
	return nil, fmt.Errorf("%q has no default", kind)
}

func objectSchema(fields map[string]any) (map[string]any, error) {
	schema := map[string]any{"type": "object"}
	if each, ok := fields["*"]; ok && len(fields) == 1 {
		of, err := schemaOf(each)
		schema["additionalProperties"] = of
		return schema, err
	}
	properties := map[string]any{}
	var required []string
	for key, field := range fields {
		if key == "..." {
			schema["x-kubernetes-preserve-unknown-fields"] = true
			continue
		}
		name, must := strings.CutSuffix(key, "!")
		of, err := schemaOf(field)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		properties[name] = of
		if must {
			required = append(required, name)
		}
	}
	if len(properties) > 0 {
		schema["properties"] = properties
	}
	if slices.Sort(required); len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}
