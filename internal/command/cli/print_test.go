package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// COLUMNS counts before the terminal, and what is no terminal has no width.
func TestWidth(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for columns, want := range map[string]int{"": 0, "80": 80, "0": 0, "-5": 0, "wide": 0} {
		for _, w := range []io.Writer{file, io.Discard} {
			if got := testApp(t, "COLUMNS", columns).Width(w); got != want {
				t.Errorf("COLUMNS=%q: got %d, want %d", columns, got, want)
			}
		}
	}
}

// YAML says what JSON does, and has no command for a runner, wherever a string puts one.
func TestPrintYAML(t *testing.T) {
	var b strings.Builder
	value := map[string]any{"n": 12345678901, "::error::k": []string{"::error::x", "a ##[error]b", "a\n::warning::b\x1b[31m", "1.30", "yes", ""}}
	if err := PrintYAML(&b, value); err != nil {
		t.Fatal(err)
	}
	if Inert(b.String()) != b.String() {
		t.Errorf("not inert:\n%s", b.String())
	}
	var back map[string]any
	if err := yaml.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	want := []any{`:\:error::x`, `a ##\[error]b`, "a\n:\\:warning::b\\x1b[31m", "1.30", "yes", ""}
	if got := back[`:\:error::k`]; !reflect.DeepEqual(got, want) || fmt.Sprintf("%.0f", back["n"]) != "12345678901" {
		t.Errorf("got %#v\nwant %#v\n%s", got, want, b.String())
	}
}

func TestTable(t *testing.T) {
	for name, test := range map[string]struct {
		rows [][]string
		want string
	}{
		"nothing":             {nil, ""},
		"columns":             {[][]string{{"NAME", "AGE"}, {"a", "1"}, {"longer", "2"}}, "NAME     AGE\na        1\nlonger   2\n"},
		"runes, not bytes":    {[][]string{{"✓ äöü", "1"}, {"– 123", "2"}}, "✓ äöü   1\n– 123   2\n"},
		"no blanks at an end": {[][]string{{"a", "long", ""}, {"b", "", ""}}, "a   long\nb\n"},
		"leading cells empty": {[][]string{{"ok", "git", "2.0"}, {"", "", "→ fix"}, {"missing", "space", "1"}}, "ok        git     2.0\n                  → fix\nmissing   space   1\n"},
		"a short row":         {[][]string{{"longer", "x", "y"}, {"z"}, {"a", "b", "c"}}, "longer   x   y\nz\na        b   c\n"},
		"a tab is no border":  {[][]string{{"a\tb", "c"}, {"d", "e"}}, "a\tb   c\nd     e\n"},
		"a line in a cell":    {[][]string{{"a", "one\ntwo"}, {"long", "b"}}, "a      one\ntwo\nlong   b\n"},
		"invalid text":        {[][]string{{"a\xff", "b"}, {"cd", "e"}}, "a\uFFFD   b\ncd   e\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Table(test.rows); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestPrintJSON(t *testing.T) {
	var b strings.Builder
	if err := PrintJSON(&b, map[string]int{"cells": 1}); err != nil || b.String() != "{\n  \"cells\": 1\n}\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
