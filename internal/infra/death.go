package infra

import (
	"errors"
	"fmt"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// DeathError says that a component of a cluster ended that should not have.
type DeathError struct {
	Name string // of the component, e.g. kube-apiserver
	Err  error
	// Reason is NO_SPACE if the disk was full when it ended, otherwise SCHEDULER_FAILED for a
	// second scheduler or a controller of jobs, and COMPONENT_DIED for all others.
	Reason reason.Reason
	Log    string   // where its log is
	Tail   []string // the last lines of it
	// Crash is the line in which a program says that it crashed: a Go panic, a fatal error of Go's
	// runtime, or a fault such as SIGSEGV. It is empty if the program ended in any other way, e.g.
	// was killed or gave up with an error.
	Crash string
	// Help is what to do, for a component that has no log here.
	Help string
}

func (e *DeathError) Error() string {
	msg := fmt.Sprintf("%s ended unexpectedly (%v)", e.Name, e.Err)
	if len(e.Tail) > 0 {
		msg += ": " + e.Tail[len(e.Tail)-1]
	}
	if e.Help != "" {
		return msg + ": " + e.Help
	}
	return msg + "; its log is " + e.Log
}

// Failure is the death as what ends a cell, with the last lines of the log; a *crashError if the
// program crashed.
func (e *DeathError) Failure() error {
	said := []string{"its log is empty"}
	if len(e.Tail) > 0 {
		said = append([]string{"last lines of its log:"}, e.Tail...)
	}
	if e.Help != "" {
		said = []string{e.Help}
	}
	died := &reason.Error{Reason: e.Reason, Component: e.Name, Err: result.NewFailure(result.Finding{
		Cause: fmt.Sprintf("%s ended unexpectedly (%v)", e.Name, e.Err), Story: said,
	})}
	if e.Crash != "" {
		return &crashError{died, e.Crash}
	}
	return died
}

// crashError says that a program of the stack crashed, and neither stopped with an error of its own
// nor was terminated from outside. This is a defect of that program and no verdict about the
// recipe. kube-apiserver has such a defect: a client that reads /openapi/v3 at the moment when a
// group is added can crash it.
type crashError struct {
	error
	Line string // DeathError's Crash
}

func (e *crashError) Unwrap() error { return e.error }

// CrashOf is the line with which a program of the stack crashed, if that is what an error is of;
// otherwise empty.
func CrashOf(err error) string {
	var crash *crashError
	if errors.As(err, &crash) {
		return crash.Line
	}
	return ""
}
