package main

import (
	"bytes"
	"os"
	"path/filepath"
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
			if strings.Contains(string(have), " default:") {
				t.Errorf("%s has a default", name)
			}
		}
	}
}

func TestFieldTypes(t *testing.T) {
	for _, wrong := range []any{"text", 1, []any{}, []any{"string", "string"}, map[string]any{"a": "text"}} {
		if got, err := schemaOf(wrong); err == nil {
			t.Errorf("%v is taken for %v", wrong, got)
		}
	}
}
