package result

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// StatusOf is the status that follows from the class of a reason.
func StatusOf(r reason.Reason) Status {
	switch r.Row().Class {
	case reason.ClassPassed:
		return Passed
	case reason.ClassTimeout:
		return Timeout
	case reason.ClassInterrupted:
		return Interrupted
	case reason.ClassInfrastructure:
		return Infrastructure
	case reason.ClassUnjudged:
		return NotRun
	}
	return Failed
}

// Failure is a failure with more to say than one line.
type Failure struct {
	Findings []Finding // the first is the cause
	More     []string  // further details, which are part of no finding
	Stage    Stage     // if known
}

// NewFailure is a failure with one root cause.
func NewFailure(f Finding) *Failure { return &Failure{Findings: []Finding{f}} }

// Cause is one line.
func (f *Failure) Cause() string {
	switch len(f.Findings) {
	case 0:
		return ""
	case 1:
		return f.Findings[0].Cause
	}
	return fmt.Sprintf("%s (and %d more)", f.Findings[0].Cause, len(f.Findings)-1)
}

// Details are the stories of all findings.
func (f *Failure) Details() []string {
	var lines []string
	for i := range f.Findings {
		lines = append(lines, f.Findings[i].Story...)
	}
	return append(lines, f.More...)
}

func (f *Failure) Error() string {
	return strings.Join(append([]string{f.Cause()}, f.Details()...), "\n")
}

// VerdictOf turns a cell's error into its verdict: the only place that decides.
func VerdictOf(err error) Verdict {
	r := reason.Of(err)
	v := Verdict{Status: StatusOf(r), Reason: r}
	if err == nil {
		return v
	}
	var named *reason.Error
	if errors.As(err, &named) {
		v.Component = named.Component
	}
	var f *Failure
	if errors.As(err, &f) {
		v.Cause, v.Details, v.Stage, v.Findings = f.Cause(), f.Details(), f.Stage, f.Findings
	}
	switch r {
	case reason.SchedulingFailed:
		v.Stage = StageSchedule
	case reason.WorkloadFailed:
		v.Stage = cmp.Or(v.Stage, StageHealth)
	case reason.BundleFailed:
		v.Stage = StageRender
	}
	if f != nil {
		return v
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	v.Cause = lines[0]
	v.Details = lines[1:]
	v.Findings = []Finding{{Cause: v.Cause, Story: v.Details, Place: PlaceOf(err)}}
	return v
}
