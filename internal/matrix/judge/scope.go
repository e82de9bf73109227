package judge

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Order is what the lane's deployer waits for; zero where no lane is known.
type Order = lane.Order

// Scope is what a check is given: the facts, and where it reports.
type Scope struct {
	*facts.Index
	Order Order

	check *Check
	found []problem.Problem
}

// Report reports an object: the path is the field that is wrong, as kubectl explain writes it, and the arguments are
// those of Says and Then. The value at the path shows which line of the recipe set it.
func (s *Scope) Report(o *bundle.Object, path string, args ...any) *Found {
	return s.ReportAs("", o, path, args...)
}

// ReportAs is Report with another of the check's messages.
func (s *Scope) ReportAs(message string, o *bundle.Object, path string, args ...any) *Found {
	m := s.check.message(message)
	p := problem.Of(o)
	p.Check, p.Path, p.Reason, p.Name = s.check.ID, path, s.check.Gives, facts.Text(o.Object, path)
	p.Text, p.Then = say(s.worded(m.Says), args), say(s.worded(m.Then), args)
	if s.check.Later {
		p.Lead = s.Delivery.What + ": "
	}
	for _, a := range args {
		p.Arguments = append(p.Arguments, fmt.Sprint(a))
	}
	s.found = append(s.found, p)
	return &Found{s, len(s.found) - 1}
}

// Unverified notes that an object needs what exists only if operators and Jobs do their work. What it is and how it
// comes to be are the beginning of the sentence; one and many say what the object, or several, do without it.
func (s *Scope) Unverified(o *bundle.Object, what, how, one, many string) {
	p := problem.Of(o)
	p.Check, p.Note, p.Unverified = s.check.ID, true, &problem.Unverified{What: what, How: how, One: one, Many: many}
	s.found = append(s.found, p)
}

// worded is a message about what is delivered: checks call it the recipe, and it may be a repository.
func (s *Scope) worded(message string) string {
	if s.Index == nil || s.Expectation == nil {
		return message
	}
	return s.Expectation.Worded(message)
}

// say formats a message with as many of the arguments as it uses.
func say(format string, args []any) string {
	if !strings.Contains(format, "%") {
		return format
	}
	text := fmt.Sprintf(format, args...)
	before, _, _ := strings.Cut(text, "%!(EXTRA")
	return before
}

// Found is a finding that a check goes on to describe.
type Found struct {
	scope *Scope
	index int
}

func (f *Found) problem() *problem.Problem { return &f.scope.found[f.index] }

// Warning makes it a warning, whatever the check gives.
func (f *Found) Warning() *Found {
	f.problem().Reason = ""
	return f
}

// As gives it another reason than the check's.
func (f *Found) As(r reason.Reason) *Found {
	f.problem().Reason = r
	return f
}

// Note makes it a note.
func (f *Found) Note() *Found {
	f.problem().Reason, f.problem().Note = "", true
	return f
}

// Missing says which object does not exist. If something makes it at run time, the finding becomes a note.
func (f *Found) Missing(ref result.Ref) *Found {
	f.problem().Missing = ref
	return f
}

// SetBy says which text of the recipe's values is at fault, where that is not the value at the path.
func (f *Found) SetBy(text string) *Found {
	f.problem().Name = text
	return f
}

// At says which line is at fault, where that is no value of a component and no line of its manifests.
func (f *Found) At(place result.Place) *Found {
	f.problem().At = place
	return f
}

// OneCause makes one finding of all objects that have the same cause. Without it, each object is one of its own.
func (f *Found) OneCause(cause string) *Found {
	f.problem().Cause = f.problem().Check + " " + cause
	return f
}

// OneOfTemplate makes one finding of all objects of a template of which the check says the same.
func (f *Found) OneOfTemplate() *Found {
	p := f.problem()
	return f.OneCause(p.Component + " " + p.Template + " " + p.Text)
}

// More adds lines to what a person reads next.
func (f *Found) More(lines ...string) *Found {
	f.problem().More = append(f.problem().More, lines...)
	return f
}

// run runs the checks of a stage, in the order of the list. A check that panics is an error with its ID; the others go on.
func run(list []Check, x *facts.Index, order Order, stage Stage) (found []problem.Problem, err error) {
	for i := range list {
		s := &Scope{Index: x, Order: order, check: &list[i]}
		if !list[i].runs(s, stage) {
			continue
		}
		if failed := s.run(); failed != nil {
			err = cmp.Or(err, failed)
			continue
		}
		if stage > list[i].Needs {
			s.known()
		}
		found = append(found, s.found...)
	}
	return found, err
}

// known marks what the check found before there was a cluster.
func (s *Scope) known() {
	early := &Scope{Index: s.WithoutCluster(), Order: s.Order, check: s.check}
	if early.run() != nil {
		return // which is an error already
	}
	for i := range s.found {
		p := &s.found[i]
		p.Known = slices.ContainsFunc(early.found, func(e problem.Problem) bool {
			return e.From == p.From && e.Path == p.Path && e.Reason == p.Reason && e.Note == p.Note
		})
	}
}

func (s *Scope) run() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = reason.New(reason.Internal, "check %s (%s) panicked: %v\n%s", s.check.ID, s.check.Name, v, debug.Stack())
		}
	}()
	s.check.Run(s)
	return nil
}
