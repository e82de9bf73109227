package agent

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// What a test binary prints under -test.v=test2json becomes the events that `go tool test2json`
// makes of it.
func TestConvert(t *testing.T) {
	var got []string
	c := newConverter(func(e goTestEvent) {
		got = append(got, fmt.Sprintf("%s %s %q %g", e.Action, e.Test, e.Output, e.Elapsed))
	})
	for _, line := range []string{"before", "\x16=== RUN   TestA", "said by A", "half\x16--- PASS: TestA (0.25s)", "\x16=== RUN   TestB", "\x16--- SKIP: TestB (0.00s)", "PASS: not a mark", "\x16PASS"} {
		c.line(line)
	}
	c.end(true)
	want := []string{
		`output  "before\n" 0`, `run TestA "" 0`, `output TestA "=== RUN   TestA\n" 0`, `output TestA "said by A\n" 0`, `output TestA "half\n" 0`,
		`output TestA "--- PASS: TestA (0.25s)\n" 0`, `pass TestA "" 0.25`, `run TestB "" 0`, `output TestB "=== RUN   TestB\n" 0`, `output TestB "--- SKIP: TestB (0.00s)\n" 0`,
		`skip TestB "" 0`, `output  "PASS: not a mark\n" 0`, `output  "PASS\n" 0`,
	}
	if len(got) != len(want)+1 || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") || !strings.HasPrefix(got[len(want)], "pass ") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestUnknownBinary(t *testing.T) {
	for _, args := range [][]string{nil, {"rm"}, {"../deployment.test"}, {"deployment"}} {
		var out, err bytes.Buffer
		if code := runChecks(args, &out, &err); code != 2 || out.Len() > 0 || !strings.Contains(err.String(), "there are readiness.test, deployment.test") {
			t.Errorf("%q: %d, %q, %q", args, code, out.String(), err.String())
		}
	}
}
