package result

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	// Summary, if set, is the one line in place of the first finding's cause.
	Summary  string
	Findings []Finding // the first is the cause
	More     []string  // further details, which are part of no finding
	Stage    Stage     // if known
}

// NewFailure is a failure with one root cause.
func NewFailure(f Finding) *Failure { return &Failure{Findings: []Finding{f}} }

// Cause is one line.
func (f *Failure) Cause() string {
	if f.Summary != "" {
		return f.Summary
	}
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
		v.Cause, v.Details, v.Stage, v.Findings = short(f.Cause()), shortened(f.Details()), f.Stage, slices.Clone(f.Findings)
		for i := range v.Findings {
			v.Findings[i].Cause, v.Findings[i].Story = short(v.Findings[i].Cause), shortened(v.Findings[i].Story)
		}
	}
	switch r {
	case reason.SchedulingFailed:
		v.Stage = StageSchedule
	case reason.WorkloadFailed:
		v.Stage = cmp.Or(v.Stage, stageHealth)
	case reason.BundleFailed:
		v.Stage = StageRender
	}
	if f != nil {
		return v
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	v.Cause = short(lines[0])
	v.Details = shortened(lines[1:])
	v.Findings = []Finding{{Cause: v.Cause, Story: v.Details, Place: PlaceOf(err)}}
	return v
}

// A line of a verdict has longest bytes at most, of which the first and the last stay: Helm and the
// API server quote values that they reject as a whole, however long they are.
const (
	longest = 4000
	stays   = 1900
)

func short(line string) string {
	if line = dumped(line); len(line) <= longest {
		return line
	}
	first, last := strings.ToValidUTF8(line[:stays], ""), strings.ToValidUTF8(line[len(line)-stays:], "")
	return fmt.Sprintf("%s… (%d bytes left out) …%s", first, len(line)-len(first)-len(last), last)
}

func shortened(lines []string) []string {
	all := slices.Clone(lines)
	for i, l := range all {
		all[i] = short(l)
	}
	return all
}

// invalidValue comes before a value that the API server rejects, which can be a whole pod template.
const invalidValue = "Invalid value: "

// mostQuoted is how many bytes such a value may have.
const mostQuoted = 400

// dumped leaves out of a line what is in long values between braces, which has the field's path before it and
// the reason after it.
func dumped(line string) string {
	if len(line) <= mostQuoted {
		return line
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(line, invalidValue)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString(invalidValue)
		open := strings.IndexAny(after, "{ ")
		if end := closing(after); open < 0 || after[open] != '{' || end-open <= mostQuoted {
			line = after
		} else {
			fmt.Fprintf(&out, "%s… (%d bytes left out)}", after[:open+1], end-open-1)
			line = after[end+1:]
		}
	}
}

// closing is where the first brace of a text is closed; 0 if it is not. What is in quotes does not count.
func closing(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth <= 0 {
				return i
			}
		}
	}
	return 0
}
