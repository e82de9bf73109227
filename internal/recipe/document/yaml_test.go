package document

import (
	"fmt"
	"strings"
	"testing"
)

// The line of a syntax error is the one that an editor shows: the YAML library's scanner counts
// lines from one, its parser from zero.
func TestSyntaxErrorLines(t *testing.T) {
	for _, test := range []struct {
		name, text string
		line       int
		says       string
	}{
		{"an indentation that closes nothing", "a: 1\nb:\n  c: 1\n d: 2\n", 4, "did not find expected key"},
		{"a list item where a key belongs", "a:\n- 1\n- 2\nb: 1\n- 3\n", 5, "did not find expected key"},
		{"a key in a list", "a:\n- 1\nb: 2\nc:\n- 1\n  - 2\nx\n", 7, ""},
		{"a brace that is not closed, where it opens", "a: 1\nb: {x: 1, y: 2\nc: 3}}\n", 2, "',' or '}'"},
		{"a colon too many", "a: 1\nb: c: 2\n", 2, "mapping values are not allowed"},
	} {
		_, errs := ParseYAML("f.yaml", []byte(test.text))
		if len(errs) != 1 {
			t.Errorf("%s: got %v", test.name, errs)
			continue
		}
		if got := errs[0].Error(); !strings.HasPrefix(got, fmt.Sprintf("f.yaml:%d: ", test.line)) || !strings.Contains(got, test.says) {
			t.Errorf("%s: got %q, want line %d and %q", test.name, got, test.line, test.says)
		}
	}
}
