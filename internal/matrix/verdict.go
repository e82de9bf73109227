package matrix

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/result"
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
	findings []result.Finding // the first is the cause
	more     []string         // further details, which are part of no finding
	stage    Stage            // if known
}

// oneFinding is a failure with one root cause.
func oneFinding(f result.Finding) *finding { return &finding{findings: []result.Finding{f}} }

// cause is one line.
func (f *finding) cause() string {
	switch len(f.findings) {
	case 0:
		return ""
	case 1:
		return f.findings[0].Cause
	}
	return fmt.Sprintf("%s (and %d more)", f.findings[0].Cause, len(f.findings)-1)
}

// details are the stories of all findings.
func (f *finding) details() []string {
	var lines []string
	for i := range f.findings {
		lines = append(lines, f.findings[i].Story...)
	}
	return append(lines, f.more...)
}

func (f *finding) Error() string {
	return strings.Join(append([]string{f.cause()}, f.details()...), "\n")
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
		v.Cause, v.Details, v.Stage, v.Findings = f.cause(), f.details(), f.stage, f.findings
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
	v.Findings = []result.Finding{{Cause: v.Cause, Story: v.Details, Place: result.PlaceOf(err)}}
	return v
}
