package yamlx

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// laughs is a document of n levels, each with nine aliases of the level before.
func laughs(n int) string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range n {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	return text
}

// nested is a mapping in a mapping, n times, one a line.
func nested(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return text.String()
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int // 0: it is fine
	}{
		"no alias":              {"a: 1\n", 0},
		"large without aliases": {"a: [" + strings.Repeat("x, ", 1<<20) + "]\n", 0}, // the size of files is limited by their readers
		"what people write":     {"a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n", 0},
		"a billion laughs":      {laughs(9), 8},
		"one long text, often":  {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 100) + "]\n", 2},
		"by merge":              {"a: &a {x: " + strings.Repeat("x", 1<<20) + "}\n" + "b:\n" + strings.Repeat("  - <<: *a\n", 100), 66},
		"nested in brackets":    {"x: 1\na: " + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "\n", 2},
		"nested in lines":       {nested(600), 499},
		"nested in items":       {strings.Repeat("- ", 600) + "x\n", 1},
		"deep, as people write": {nested(100), 0},
		"a key":                 {"a: &a " + strings.Repeat("x", 1<<20) + "\n? [" + strings.Repeat("*a,", 100) + "]\n: 1\n", 2},
	} {
		start := time.Now()
		err := Check([]byte(c.text))
		var large *TooLargeError
		if errors.As(err, &large) != (c.line > 0) || c.line == 0 && err != nil {
			t.Errorf("%s: got %v", name, err)
		} else if c.line > 0 && (large.Line != c.line || Problems(err)[0].Line != c.line) {
			t.Errorf("%s: got line %d, want %d", name, large.Line, c.line)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
	for _, text := range []string{"a: &a [*a]\n", "a: &a {b: *a}\n"} {
		if err := Check([]byte(text)); err != nil { // its reader refuses it
			t.Errorf("%q, which contains itself: got %v", text, err)
		}
	}
	if err := Check([]byte("a: &b [\nc: *b")); err != nil {
		t.Errorf("a text that is no YAML is for its reader: got %v", err)
	}
}
