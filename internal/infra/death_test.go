package infra

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// What ends a cell has the last lines of the log, and only the crash of a program is one, however
// deep it stands in an error.
func TestDeathError_Failure(t *testing.T) {
	const crash = "panic: runtime error: invalid memory address or nil pointer dereference"
	for _, d := range []DeathError{
		{Name: "etcd", Err: errors.New("signal: killed"), Reason: reason.ComponentDied, Tail: []string{"a", "b"}},
		{Name: "kube-apiserver", Err: errors.New("exit status 2"), Reason: reason.ComponentDied, Crash: crash},
	} {
		err := d.Failure()
		if got := reason.Of(err); got != reason.ComponentDied {
			t.Errorf("%s: its reason is %s", d.Name, got)
		}
		if got := CrashOf(fmt.Errorf("deploying: %w", err)); got != d.Crash {
			t.Errorf("%s: it crashed with %q, want %q", d.Name, got, d.Crash)
		}
		var f *result.Failure
		if !errors.As(err, &f) || f.Findings[0].Cause != fmt.Sprintf("%s ended unexpectedly (%v)", d.Name, d.Err) {
			t.Fatalf("got %v", err)
		}
		if story := f.Findings[0].Story; d.Tail != nil && !slices.Equal(story[1:], d.Tail) || d.Tail == nil && !slices.Equal(story, []string{"its log is empty"}) {
			t.Errorf("%s: it says %q", d.Name, story)
		}
	}
}
