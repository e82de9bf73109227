package matrix

import (
	"errors"
	"strings"

	"github.com/nvidia/aicr-action/internal/reason"
)

// statusOf is the status that follows from the class of a reason.
func statusOf(r reason.Reason) Status {
	switch r.Row().Class {
	case reason.ClassPassed:
		return Passed
	case reason.ClassTimeout:
		return Timeout
	case reason.ClassInterrupted:
		return Interrupted
	case reason.ClassInfrastructure:
		return Infrastructure
	}
	return Failed
}

// finding is a failure with more to say than one line.
type finding struct {
	cause   string
	details []string
	stage   Stage // if known
}

func (f *finding) Error() string {
	if len(f.details) == 0 {
		return f.cause
	}
	return f.cause + "\n" + strings.Join(f.details, "\n")
}

// verdictOf turns a cell's error into its verdict: the only place that decides.
func verdictOf(err error) Verdict {
	r := reason.Of(err)
	v := Verdict{Status: statusOf(r), Reason: r}
	if err == nil {
		return v
	}
	var named *reason.Error
	if errors.As(err, &named) {
		v.Component = named.Component
	}
	var f *finding
	if errors.As(err, &f) {
		v.Cause, v.Details, v.Stage = f.cause, f.details, f.stage
	}
	switch r {
	case reason.SchedulingFailed:
		v.Stage = StageSchedule
	case reason.BundleFailed:
		v.Stage = StageRender
	}
	if f != nil {
		return v
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	v.Cause = lines[0]
	v.Details = lines[1:]
	return v
}
