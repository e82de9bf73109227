package cli

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// brokenWriter fails as the standard output does.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: w.err}
}

// A reader of the events that closes its pipe does not change the run's exit code (F31). An error
// of writing them does.
func TestEvents_NoReader(t *testing.T) {
	gone, full := NewEventLog(newPatient(brokenWriter{syscall.EPIPE})), NewEventLog(newPatient(brokenWriter{syscall.ENOSPC}))
	for _, l := range []*EventLog{gone, full} {
		l.Begin("1", 1)
	}
	if err := gone.End(nil, 0); err != nil {
		t.Errorf("a reader that went away: %v", err)
	}
	if err := full.End(nil, 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: got %v", err)
	}
}
