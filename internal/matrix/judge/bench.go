package judge

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

// Bench is the checks of a run, and what its user has ignored. Nil is a bench without checks.
type Bench struct {
	Checks []Check
	Ignore *Ignores
	// Only are the IDs of the checks, if they are not all that there are.
	Only []string
}

// Inputs are what of the bench a verdict of a recipe depends on, besides the program; none if it is that of every run.
func (b *Bench) Inputs(recipe string) (all []string) {
	for _, id := range b.Only {
		all = append(all, "only "+id)
	}
	if b.Ignore == nil {
		return all
	}
	for _, e := range b.Ignore.entries {
		if e.Recipe == "" || e.Recipe == recipe {
			all = append(all, "ignored "+e.Check+" "+e.Object)
		}
	}
	return all
}

// Judge runs the checks of some stages. What is ignored is among the problems, with the reason for which it is.
func (b *Bench) Judge(x *facts.Index, recipe string, order Order, stages ...Stage) ([]problem.Problem, error) {
	if b == nil {
		return nil, nil
	}
	var all []problem.Problem
	for _, stage := range stages {
		found, err := run(b.Checks, x, order, stage)
		if err != nil {
			return all, err
		}
		all = append(all, found...)
	}
	for i := range all {
		all[i].Ignored = b.Ignore.why(all[i].Check, all[i].From, recipe)
	}
	// A fault that was known before has ended the cell, unless it was ignored.
	return slices.DeleteFunc(all, func(p problem.Problem) bool { return p.Known && (p.Reason == "" || p.Ignored != "") }), nil
}

// Report is what Judge finds, one finding for a cause.
func (b *Bench) Report(x *facts.Index, recipe string, order Order, stage Stage) (Report, error) {
	found, err := b.Judge(x, recipe, order, stage)
	d := newDocket(x)
	for i := range found {
		d.Add(found[i])
	}
	return d.Report(), err
}

// ByID is the check with an ID or a name, of which letters' case does not count; nil if there is none.
func ByID(list []Check, id string) *Check {
	i := slices.IndexFunc(list, func(c Check) bool { return strings.EqualFold(c.ID, id) || strings.EqualFold(c.Name, id) })
	if i < 0 {
		return nil
	}
	return &list[i]
}
