package cli

import (
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A document with any text reads back unchanged, and no CI runner executes a line of it as a
// command.
func TestDocuments(t *testing.T) {
	for name, value := range map[string]string{
		"plain":         ">= 1.30",
		"several lines": "a\nb\n",
		"a command":     "x\n::error::owned\n",
		"another":       "##[error]owned",
		"an escape":     "a\x1b[31mb",
		"a return":      "a\r::error::b",
	} {
		v := map[string]any{"key": value, "list": []any{value, float64(1), nil, true}}
		for form, make := range map[string]func(any) ([]byte, error){"yaml": DocumentYAML, "json": DocumentJSON} {
			text, err := make(v)
			if err != nil {
				t.Fatal(err)
			}
			if Inert(string(text)) != string(text) {
				t.Errorf("%s as %s is not inert: %q", name, form, text)
			}
			var back map[string]any
			if err := yaml.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, v) {
				t.Errorf("%s as %s: got %v and %#v", name, form, err, back)
			}
		}
	}
	if text, err := DocumentYAML(map[string]any{"a": "b"}); err != nil || string(text) != "a: b\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if text, err := InertDocument([]byte("# ::error::\na: |\n  x\n  ::error::y\n")); err != nil || strings.Contains(string(text), "\n::") || strings.Contains(string(text), "  ::") {
		t.Errorf("got %q, %v", text, err)
	}
}
