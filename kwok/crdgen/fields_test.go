package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The CRDs have the fields of fields.yaml, and no default: what a default fills in is drift to Argo
// CD.
func TestFieldsAreWritten(t *testing.T) {
	all, err := readFields()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, name := range f.Files {
			have, err := os.ReadFile(filepath.Join("../charts", name))
			if err != nil {
				t.Fatal(err)
			}
			want, err := f.into(have)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !bytes.Equal(have, want) {
				t.Errorf("%s is not what fields.yaml says; run make generate", name)
			}
		}
		schema, err := schemaOf(f.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if hasDefault(schema) != slices.ContainsFunc(f.Files, isJob) {
			t.Errorf("%s: default %t; want one only in kinds that users and controllers make", f.Files, hasDefault(schema))
		}
	}
	for _, name := range []string{"cdi", "default"} { // a field may have this name
		if hasDefault(map[string]any{"properties": map[string]any{name: map[string]any{"type": "string"}}}) {
			t.Errorf("a field %s is taken for a default", name)
		}
	}
	if !hasDefault(map[string]any{"items": map[string]any{"properties": map[string]any{"default": map[string]any{"default": 1}}}}) {
		t.Error("a default is not found")
	}
}

// isJob: the CRD is of a kind that no chart renders. Only these have defaults, which the real
// controllers need.
func isJob(file string) bool {
	return strings.Contains(file, "/trainjobs.") || strings.Contains(file, "/jobsets.")
}

// hasDefault: a schema, or one in it, has a default.
func hasDefault(schema map[string]any) bool {
	if _, ok := schema["default"]; ok {
		return true
	}
	var inside []any
	for _, key := range []string{"items", "additionalProperties"} {
		inside = append(inside, schema[key])
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		inside = slices.AppendSeq(inside, maps.Values(properties))
	}
	return slices.ContainsFunc(inside, func(v any) bool {
		s, ok := v.(map[string]any)
		return ok && hasDefault(s)
	})
}

func TestFieldTypes(t *testing.T) {
	for _, wrong := range []any{"text", 1, []any{}, []any{"string", "string"}, map[string]any{"a": "text"}, "boolean=true", "integer=x"} {
		if got, err := schemaOf(wrong); err == nil {
			t.Errorf("%v is taken for %v", wrong, got)
		}
	}
}
