package validate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Plan has the checks and constraints of a validation, before it reads a cluster.
type Plan struct {
	Phases []PlannedPhase
	recipe *recipe.Result
}

// PlannedPhase is one phase of a recipe.
type PlannedPhase struct {
	Phase Phase
	Items []Item
	// Notes name the fields of the phase that this program ignores.
	Notes []string
}

// Item is one requirement of a phase: a check, or a constraint that is compared with the snapshot.
type Item struct {
	Name   string
	Place  result.Place
	Origin recipe.Origin
	// Check is its implementation; nil for a constraint, and for a check that this program has not.
	Check *Check
	// Constraints are those that the check evaluates, or the one that the item is.
	Constraints []recipe.Constraint
}

func (i *Item) isConstraint() bool { return i.Check == nil && len(i.Constraints) > 0 }

// ParsePhases reads the value of a --phase flag: all, or a list of phases.
func ParsePhases(text string) ([]Phase, error) {
	var phases []Phase
	all := false
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if name == "all" {
			all = true
			continue
		}
		p := Phase(strings.ToLower(name))
		if !slices.Contains(Phases(), p) {
			return nil, fmt.Errorf("there is no phase %.100q; want readiness, deployment, performance, conformance or all", name)
		}
		phases = append(phases, p)
	}
	if all {
		return Phases(), nil
	}
	if len(phases) == 0 {
		return nil, fmt.Errorf("no phase is named; want readiness, deployment, performance, conformance or all")
	}
	// In their own order, each once.
	return slices.DeleteFunc(Phases(), func(p Phase) bool { return !slices.Contains(phases, p) }), nil
}

// NewPlan finds the requirements of a recipe's phases. The recipe's own constraints belong to
// readiness. An error is a *recipe.FileError, for a block that cannot be read.
func NewPlan(r *recipe.Result, phases []Phase) (*Plan, error) {
	p := &Plan{recipe: r}
	for _, name := range phases {
		phase := PlannedPhase{Phase: name}
		if name == Readiness {
			for _, c := range r.Constraints {
				phase.Items = append(phase.Items, constraintItem(c))
			}
		}
		block, err := readBlock(r, name)
		if err != nil {
			return nil, err
		}
		for _, field := range block.unread {
			phase.Notes = append(phase.Notes, fmt.Sprintf("validation.%s.%s is not read (%s)", name, field, block.origin))
		}
		phase.add(block)
		if len(phase.Items) > 0 || len(phase.Notes) > 0 {
			p.Phases = append(p.Phases, phase)
		}
	}
	return p, nil
}

// add gives every constraint to the check that evaluates it; what no check evaluates is compared
// with the snapshot.
func (p *PlannedPhase) add(b block) {
	for _, want := range b.checks {
		item := Item{Name: want.name, Origin: want.origin, Place: placeOf(want.origin)}
		item.Check, _ = Lookup(want.name)
		p.Items = append(p.Items, item)
	}
	for _, c := range b.constraints {
		check := evaluatorOf(c.Name)
		if check == nil {
			p.Items = append(p.Items, constraintItem(c))
			continue
		}
		i := slices.IndexFunc(p.Items, func(i Item) bool { return i.Check != nil && i.Check.Name == check.Name })
		if i < 0 { // only the constraint requires the check
			p.Items = append(p.Items, Item{Name: check.Name, Origin: c.Origin, Place: placeOf(c.Origin), Check: check})
			i = len(p.Items) - 1
		}
		p.Items[i].Constraints = append(p.Items[i].Constraints, c)
	}
}

func constraintItem(c recipe.Constraint) Item {
	return Item{Name: c.Name, Origin: c.Origin, Place: placeOf(c.Origin), Constraints: []recipe.Constraint{c}}
}

func placeOf(o recipe.Origin) result.Place { return result.Place{File: o.File, Line: o.Line} }

// Count is the number of checks and constraints.
func (p *Plan) Count() int {
	n := 0
	for i := range p.Phases {
		n += len(p.Phases[i].Items)
	}
	return n
}

// NeedsCluster reports whether any check reads the cluster itself.
func (p *Plan) NeedsCluster() bool {
	for i := range p.Phases {
		for j := range p.Phases[i].Items {
			if c := p.Phases[i].Items[j].Check; c != nil && len(c.Rules) > 0 {
				return true
			}
		}
	}
	return false
}

// Executor runs the checks of one phase somewhere, and gives an outcome for each, in their order.
// An error means that they could not be run.
type Executor interface {
	RunPhase(ctx context.Context, phase Phase, items []Item, in Inputs) ([]Outcome, error)
}

// atOnce is the number of checks that run side by side; they only read.
const atOnce = 4

// Direct runs checks in this process.
type Direct struct {
	// Patience is how long a failed check is repeated, for a cluster that has only just been
	// deployed to; zero: not at all.
	Patience time.Duration
}

// interval between two runs of a check that failed.
const interval = 500 * time.Millisecond

var _ Executor = Direct{}

// RunPhase runs the checks side by side.
func (d Direct) RunPhase(ctx context.Context, _ Phase, items []Item, in Inputs) ([]Outcome, error) {
	outcomes := make([]Outcome, len(items))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, item := range items {
		group.Go(func() error {
			in := in
			in.Constraints = item.Constraints
			start := time.Now()
			outcomes[i] = item.Check.Run(ctx, in)
			for outcomes[i].Status == result.StepFailed && !outcomes[i].Final && time.Since(start) < d.Patience {
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(interval):
				}
				outcomes[i] = item.Check.Run(ctx, in)
			}
			outcomes[i].Duration = time.Since(start)
			return nil
		})
	}
	_ = group.Wait() // its functions return no errors
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return outcomes, nil
}

// Run goes through the phases in order. A phase with a failure is finished, and the later ones are
// skipped: what they would say is about a cluster that is known not to be in order. Inputs without
// clients skip the checks that need a cluster.
func (p *Plan) Run(ctx context.Context, with Executor, in Inputs) ([]result.Check, error) {
	in.Recipe = p.recipe
	var all []result.Check
	failed := Phase("")
	for i := range p.Phases {
		phase := &p.Phases[i]
		if failed != "" {
			for j := range phase.Items {
				all = append(all, phase.outcome(&phase.Items[j], Outcome{Status: result.StepSkipped, Message: fmt.Sprintf("not run, since phase %s failed", failed)}))
			}
			continue
		}
		checks, err := phase.run(ctx, with, in)
		if err != nil {
			return all, fmt.Errorf("run the checks of phase %s: %w", phase.Phase, err)
		}
		all = append(all, checks...)
		if slices.ContainsFunc(checks, func(c result.Check) bool { return c.Status == result.StepFailed }) {
			failed = phase.Phase
		}
	}
	return all, nil
}

func (p *PlannedPhase) run(ctx context.Context, with Executor, in Inputs) ([]result.Check, error) {
	list := make([]result.Check, len(p.Items))
	var run []Item
	var at []int
	started := time.Now()
	for i := range p.Items {
		item := &p.Items[i]
		switch {
		case item.isConstraint():
			list[i] = p.compare(item, in)
		case item.Check == nil:
			list[i] = p.outcome(item, Outcome{Status: result.StepSkipped, Message: fmt.Sprintf("this program has no check %.100q; it has %s", item.Name, strings.Join(names(), ", "))})
		case len(item.Check.Rules) > 0 && (in.Kube == nil || in.Dynamic == nil):
			list[i] = p.outcome(item, Outcome{Status: result.StepSkipped, Message: "it looks at the cluster, and there is none; name a kubeconfig with --kubeconfig or in KUBECONFIG"})
		default:
			run, at = append(run, *item), append(at, i)
		}
	}
	if len(run) == 0 {
		return list, nil
	}
	outcomes, err := with.RunPhase(ctx, p.Phase, run, in)
	if err != nil {
		return nil, err
	}
	for j, i := range at {
		list[i] = p.outcome(&run[j], outcomes[j])
		list[i].Started = started.UTC()
	}
	return list, nil
}

func (p *PlannedPhase) outcome(item *Item, o Outcome) result.Check {
	c := result.Check{
		Phase: string(p.Phase), Name: item.Name, Status: o.Status, Message: o.Message, Details: o.Details, Component: o.Component, Place: item.Place, Duration: o.Duration,
		Actual: o.Actual,
	}
	if len(item.Constraints) > 0 {
		c.Expected = item.Constraints[0].Value
	}
	if o.Place.File != "" {
		if c.Place.File != "" {
			c.Details = append(slices.Clip(c.Details), fmt.Sprintf("the check %s is wanted by %s", item.Name, c.Place))
		}
		c.Place = o.Place
	}
	return c
}

// Simulated is the key of a subtype's context that says that its readings were not measured, and
// where they come from.
const Simulated = "simulated"

// compare compares a constraint with the snapshot.
func (p *PlannedPhase) compare(item *Item, in Inputs) result.Check {
	c := item.Constraints[0]
	var got recipe.Reading
	var err error
	if in.Snapshot != nil {
		got, err = in.Snapshot.Measure(c)
	}
	if err == nil && !got.Found {
		text := "the snapshot has no such reading"
		if in.Snapshot == nil {
			text = "there is no snapshot to compare it with; name one with --snapshot"
		}
		return p.outcome(item, Outcome{Status: result.StepSkipped, Message: text})
	}
	from := ""
	if origin := in.Snapshot.ContextOf(c.Name)[Simulated]; origin != "" {
		from = " (" + Simulated + ": " + origin + ")"
	}
	have, holds := got.Have, got.Holds
	o := Outcome{Actual: have}
	switch {
	case err != nil:
		o.Status, o.Message = result.StepFailed, err.Error()
	case holds:
		o.Status, o.Message = result.StepPassed, fmt.Sprintf("%s is %s, want %s%s", c.Name, have, c.Value, from)
	default:
		o.Status, o.Message = result.StepFailed, fmt.Sprintf("%s is %s, want %s%s", c.Name, have, c.Value, from)
		if mild := strings.ToLower(c.Severity); mild == "warning" || mild == "info" {
			o.Status, o.Message = result.StepSkipped, o.Message+"; it has severity "+mild+", so it does not fail"
		}
		if c.Remediation != "" {
			o.Message += "; " + c.Remediation
		}
	}
	return p.outcome(item, o)
}

// Verdict is a validation's status: fail if anything failed, partial if anything was skipped, or
// nothing was checked, else pass.
func Verdict(list []result.Check) string {
	passed, failed, skipped := result.CountChecks(list)
	switch {
	case failed > 0:
		return "fail"
	case skipped > 0 || passed == 0:
		return "partial"
	}
	return "pass"
}
