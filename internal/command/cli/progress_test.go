package cli

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// In a log: a line at the end of a task, one per heartbeat while it runs, and no escape code, even
// if the variables describe a terminal.
func TestProgress_Log(t *testing.T) {
	for _, env := range []map[string]string{{}, {"TERM": "xterm-256color", "COLORTERM": "truecolor"}, {"TERM": "dumb"}, {"NO_COLOR": "1"}} {
		synctest.Test(t, func(t *testing.T) {
			out := &testkit.Log{}
			p := NewProgress(out, func(name string) string { return env[name] })
			short, long := p.Begin("Short"), p.Begin("Long")
			short.Update("a detail that nobody reads")
			for i := range 100 { // often, as the gate does
				long.Update("3 of 9 ready")
				_ = i
			}
			time.Sleep(2 * time.Second)
			short.End("2 things", nil)
			time.Sleep(2*heartbeat - 2*time.Second + time.Millisecond)
			long.Update("8 of 9 ready")
			long.End("", errors.New("refused"))
			p.Close()
			p.Close() // again, as run does
			want := " ✓ Short  2 things  2.0s\n • Long  3 of 9 ready  15s\n • Long  3 of 9 ready  30s\n ✗ Long  30.0s\n"
			if got := out.String(); got != want {
				t.Errorf("%v: got:\n%swant:\n%s", env, got, want)
			}
		})
	}
}

func TestProgress_AfterEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &testkit.Log{}
		p := NewProgress(out, func(string) string { return "" })
		p.Begin("Never ends")
		p.Close()
		time.Sleep(10 * heartbeat)
		if got := out.String(); got != "" {
			t.Errorf("got %q after close, want nothing", got)
		}
	})
}
