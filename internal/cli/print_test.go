package cli

import (
	"strings"
	"testing"
)

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
