package testskip

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

// recorder writes down how a test would end.
type recorder struct {
	testing.TB
	end string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Skip(args ...any)                  { r.say("skipped: " + fmt.Sprint(args...)) }
func (r *recorder) Skipf(format string, args ...any)  { r.say(fmt.Sprintf("skipped: "+format, args...)) }
func (r *recorder) Fatalf(format string, args ...any) { r.say(fmt.Sprintf("failed: "+format, args...)) }

// say keeps the first: the others are not reached, since a real test ends there.
func (r *recorder) say(text string) {
	if r.end == "" {
		r.end = text
	}
}

func TestMissingAndShort(t *testing.T) {
	before := flag.Lookup("test.short").Value.String()
	t.Cleanup(func() {
		if err := flag.Set("test.short", before); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		ci, short     string
		missing, left string // beginnings
	}{
		{"", "false", "skipped: no bash", ""},
		{"", "true", "skipped: no bash", "skipped: -short: it is slow"},
		{"true", "false", "failed: no bash; with CI=true", ""},
		{"true", "true", "skipped: no bash", "skipped: -short: it is slow"},
		{"false", "false", "skipped: no bash", ""},
	} {
		t.Setenv("CI", c.ci)
		if err := flag.Set("test.short", c.short); err != nil {
			t.Fatal(err)
		}
		missing, short := &recorder{TB: t}, &recorder{TB: t}
		Missing(missing, "no %s", "bash")
		Short(short, "it is slow")
		if !strings.HasPrefix(missing.end, c.missing) || short.end != c.left {
			t.Errorf("CI=%s -short=%s: got %q and %q, want %q and %q", c.ci, c.short, missing.end, short.end, c.missing, c.left)
		}
	}
}
