package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Absent is what a cell runs without, since the charts of it cannot be had. Such a cell never passes.
type Absent struct {
	// Err says why. Its reason is the cell's.
	Err error
	// Apps are those without a chart, by their place in Errs. Dependents are what depends on them.
	Apps, Dependents []string
	Errs             []error
	// Advice is what helps.
	Advice string
	// Of is how many there are with them.
	Of int
}

// LeaveOut notes what the plan's cell runs without.
func (p *Plan) LeaveOut(a *Absent) { p.absent = a }

// lines has one for each app that is not run.
func (a *Absent) lines() (all []string) {
	if a == nil {
		return nil
	}
	for i, name := range a.Apps {
		all = append(all, name+" is not run: "+result.FirstLine(a.Errs[i].Error()))
	}
	for _, name := range a.Dependents {
		all = append(all, name+" is not run: it depends on what is left out")
	}
	return all
}

// verdict turns the outcome of the rest into that of the cell: its reason is that of what is absent, and what is wrong
// with the rest is said too. A cell that was ended from outside stays that.
func (a *Absent) verdict(rest error) error {
	if a == nil || rest != nil && (result.StatusOf(reason.Of(rest)) == result.Interrupted || result.StatusOf(reason.Of(rest)) == result.NotRun) {
		return rest
	}
	f := &result.Failure{Summary: fmt.Sprintf("%d of %s not run, since %s cannot be had; the rest ", len(a.Apps)+len(a.Dependents), lists.Count(a.Of, "app"), lists.Count(len(a.Apps), "chart"))}
	for i, name := range a.Apps {
		f.Findings = append(f.Findings, result.Finding{Cause: name + " is not run: " + result.FirstLine(a.Errs[i].Error()), Component: name, Place: result.PlaceOf(a.Errs[i]), Story: []string{name + " is not run: " + a.Errs[i].Error()}})
	}
	if len(a.Dependents) > 0 {
		f.Findings[0].Story = append(f.Findings[0].Story, "what depends on what is left out is not run either: "+strings.Join(lists.AtMost(a.Dependents, 20), ", "))
	}
	if a.Advice != "" {
		f.More = []string{a.Advice}
	}
	failed := &reason.Error{Reason: reason.Of(a.Err), Err: f}
	if rest == nil {
		f.Summary += "passed"
		return failed
	}
	v := result.VerdictOf(rest)
	f.Summary += fmt.Sprintf("failed (%s): %s", v.Reason, v.Cause)
	if of, ok := errors.AsType[*result.Failure](rest); ok {
		f.More, f.Stage = append(f.More, of.More...), of.Stage
	}
	f.Findings = append(slices.Clone(v.Findings), f.Findings...) // what the user can fix first
	return failed
}
