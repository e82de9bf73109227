package infra

import (
	"fmt"

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
