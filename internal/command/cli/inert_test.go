package cli

import (
	"bytes"
	"encoding/json"
	"html"
	"html/template"
	"regexp"
	"strings"
	"testing"
	"time"
)

// obeyed is what a runner takes for a command in a step's log: the form with colons behind any
// white space, the form with hashes anywhere.
var obeyed = regexp.MustCompile(`(?m)^[\s\x{a0}\x{85}\x{feff}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]*::|##\[`)

// hostileTexts is what a file, a recipe or a chart might have for a name or a message.
var hostileTexts = []string{
	"::error::x", "##[error]x", "  \t::add-mask::x", "a\n::stop-commands::x", "a\r::error::x", "a\r\n::error::x", "x ##[add-mask]y", "###[error]", "\u00a0::error::x", "\u2028::error::x",
	":::error::x", ": ::error::x", "\x1b[2J::error::x", "\x00::error::x", "\xff::error::x", "::", "##[", "##\n[", ":\n:", "\u3000\ufeff::debug::", "\u009b2J\u0085::error::x", "\u2066passed\u202e::error::x\u2069", "\xc2\xe2\x80::error::x",
}

// What a text is made into has no commands, wherever it was cut, and is the same text to a person.
func TestInert(t *testing.T) {
	for _, text := range hostileTexts {
		whole := Inert(text)
		lines := strings.FieldsFunc(whole, func(r rune) bool { return r == '\n' || r == '\r' })
		for _, line := range lines {
			if obeyed.MatchString(line) {
				t.Errorf("%q became %q, which has a command", text, whole)
			}
		}
		if strings.ContainsAny(whole, "\x00\x1b\r\u009b\u0085\u202e\u2066\u2069") {
			t.Errorf("%q became %q, which has control characters", text, whole)
		}
		for at := range len(text) {
			var b strings.Builder
			w := NewInertWriter(&b)
			for _, piece := range []string{text[:at], text[at:]} {
				if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatalf("write: %d, %v", n, err)
				}
			}
			if b.String() != whole {
				t.Errorf("%q cut at %d became %q, want %q", text, at, b.String(), whole)
			}
		}
	}
	for text, want := range map[string]string{
		"::error::x": `:\:error::x`, "  ::error::x\n": "  :\\:error::x\n", "a ##[error]b": `a ##\[error]b`, "a\rb": `a\rb`, "\x1b[31m": `\x1b[31m`, "a\u009bm \u202eb": `a\u009bm \u202eb`,
		"std::string, a: b\n\tc:d  # [x] ## y é ✓ …°\n": "std::string, a: b\n\tc:d  # [x] ## y é ✓ …°\n",
	} {
		if got := Inert(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A document of HTML or XML means the same, and has no commands.
func TestInert_Markup(t *testing.T) {
	for _, text := range hostileTexts {
		var doc bytes.Buffer
		if err := template.Must(template.New("").Parse("<!doctype html>\n<pre title=\"{{.}}\">\n{{.}}</pre>\n")).Execute(&doc, text); err != nil {
			t.Fatal(err)
		}
		got := string(InertMarkup(doc.Bytes()))
		for _, line := range strings.FieldsFunc(got, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if obeyed.MatchString(line) {
				t.Errorf("%q became %q, which has a command", text, got)
			}
		}
		if strings.ContainsAny(got, "\x00\x1b\r") {
			t.Errorf("%q became %q, which has control characters", text, got)
		}
		control := regexp.MustCompile(`[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]`)
		if read, want := html.UnescapeString(got), html.UnescapeString(doc.String()); read != control.ReplaceAllString(want, "\uFFFD") {
			t.Errorf("%q is read as %q, want %q", text, read, want)
		}
	}
	plain := "<p>std::string, a: b # [x] ## y é</p>\n"
	if got := string(InertMarkup([]byte(plain))); got != plain {
		t.Errorf("got %q", got)
	}
}

// A document of JSON means the same, and has no commands.
func TestInert_JSON(t *testing.T) {
	var b strings.Builder
	if err := PrintJSON(&b, hostileTexts); err != nil {
		t.Fatal(err)
	}
	if obeyed.MatchString(b.String()) {
		t.Errorf("a command in\n%s", b.String())
	}
	var got []string
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil || len(got) != len(hostileTexts) || got[1] != hostileTexts[1] || got[6] != hostileTexts[6] {
		t.Errorf("got %q, %v", got, err)
	}
	b.Reset()
	NewEventLog(&b).Begin("##[error]x", 1)
	if obeyed.MatchString(b.String()) || !strings.Contains(b.String(), `#\u0023[error]x`) {
		t.Errorf("an event: %s", b.String())
	}
}

// Progress and everything else on stderr is inert.
func TestInert_Stderr(t *testing.T) {
	var b strings.Builder
	a := New(func(string) string { return "" }, &b, &b)
	task := a.Progress.Begin("a\n::error::x")
	task.Update("##[error]y")
	a.Progress.mu.Lock()
	a.Progress.active[0].spoken = time.Now().Add(-time.Hour)
	a.Progress.mu.Unlock()
	a.Progress.beat()
	task.End("b\n::error::z", nil)
	a.Progress.Close()
	root := another(a, Usagef("recipes/a\n::error::w: malformed"))
	a.Getenv = testApp(t).Getenv
	if code := a.Execute(t.Context(), root, []string{"fail", "x"}, func(err error) error { return err }); code != 2 {
		t.Errorf("exit code %d", code)
	}
	if obeyed.MatchString(b.String()) {
		t.Errorf("a command in\n%s", b.String())
	}
	for _, want := range []string{`error::x`, `##\[error]y`, `error::z`, `error::w`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
