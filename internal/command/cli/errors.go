package cli

import (
	"errors"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Usagef is an error about an argument, a flag, a variable or a file that was given; its exit code
// is 2.
func Usagef(format string, args ...any) error { return reason.New(reason.Usage, format, args...) }

// WrapUsage makes err such an error, unless it has a reason already. It returns nil for nil.
func WrapUsage(err error) error { return reason.Wrap(reason.Usage, err) }

// Reported is an error that the user has read already, in the report: Execute does not print it
// again.
type Reported struct{ Err error }

func (r *Reported) Error() string { return r.Err.Error() }

// Unwrap gives the error that was reported.
func (r *Reported) Unwrap() error { return r.Err }

// No is an answer that is no, e.g. that a selector leads nowhere: the command did its work, and its
// exit code is 1. It has no reason.
type No struct{ Err error }

func (n *No) Error() string { return n.Err.Error() }

// Unwrap gives the answer.
func (n *No) Unwrap() error { return n.Err }

// CodeOf is the exit code of an error: 0 for nil, 1 for a No, that of its reason, or 128 plus the
// number of the signal that interrupted the run.
func CodeOf(err error) int {
	var interrupt *Interrupt
	if errors.As(err, &interrupt) {
		return reason.SignalBase + int(interrupt.Signal)
	}
	var no *No
	if errors.As(err, &no) {
		return 1
	}
	r := reason.Of(err)
	if r == reason.Interrupted { // and no signal is known: the harness lost it
		return reason.Internal.Code()
	}
	return r.Code()
}

// CodeInReport is the exit code of a reason. An interrupt's depends on the signal, and is left out:
// 0.
func CodeInReport(r reason.Reason) int {
	if r == reason.Interrupted {
		return 0
	}
	return r.Code()
}
