package judge

import (
	"errors"
	"fmt"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Ruling makes of an error what is left of it without what the user ignores: see Bench.Rule. Nil leaves it as it is.
type Ruling func(error) error

// On applies the ruling.
func (r Ruling) On(err error) error {
	if r == nil || err == nil {
		return err
	}
	return r(err)
}

// Rule is what becomes of a failure that a step of a cell has found: each of its findings that names a check gets its tag,
// and what the user ignores is taken out. Nothing is left if that was all. A finding about several objects goes once all
// of them are ignored.
func (b *Bench) Rule(recipe string, err error) (r Report, left error) {
	f, ok := errors.AsType[*result.Failure](err)
	if !ok {
		return r, err
	}
	var stay []result.Finding
	for _, one := range f.Findings {
		if one.Check == "" || one.Severity != "" { // or was ruled on already
			stay = append(stay, one)
			continue
		}
		one.Reason = reason.Of(err)
		b.rule(&one, result.SeverityError, recipe)
		if r.Findings = append(r.Findings, one); one.Ignored == "" {
			stay = append(stay, one)
			continue
		}
		r.Ignored = append(r.Ignored, ignoredLine(&one))
	}
	if f.Findings = stay; len(stay) == 0 {
		return r, nil
	}
	return r, err
}

// Warn is Rule for warnings.
func (b *Bench) Warn(recipe string, found []result.Finding) (r Report) {
	for _, one := range found {
		b.rule(&one, result.SeverityWarning, recipe)
		r.Findings = append(r.Findings, one)
		if one.Ignored != "" {
			r.Ignored = append(r.Ignored, ignoredLine(&one))
		} else {
			r.Warnings = append(r.Warnings, one.Cause)
		}
	}
	return r
}

func (b *Bench) rule(f *result.Finding, severity result.Severity, recipe string) {
	f.Severity = severity
	story := len(f.Story) > 0 && f.Story[0] == f.Cause
	if f.Cause += " " + tag(f.Check); story {
		f.Story[0] = f.Cause
	}
	if b == nil || f.Object == nil {
		return
	}
	f.Ignored = b.Ignore.why(f.Check, *f.Object, recipe)
	for _, other := range f.Others {
		if f.Ignored != "" && b.Ignore.why(f.Check, other, recipe) == "" {
			f.Ignored = ""
		}
	}
}

// ignoredLine is a finding that the user ignores, with the reason.
func ignoredLine(f *result.Finding) string { return fmt.Sprintf("%s; ignored: %s", f.Cause, f.Ignored) }

// Warning is a warning of an observed check about an object, or about none, in one line.
func (c *Check) Warning(of result.Ref, component, format string, args ...any) result.Finding {
	f := result.Finding{Check: c.ID, Component: component, Cause: fmt.Sprintf(format, args...)}
	if of != (result.Ref{}) {
		f.Object = &of
	}
	return f
}
