// Package judge runs checks. A check is a value: what it is called, what it needs, what it says, and the function
// that looks. Package checks has the list. It must not know a single check.
package judge

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Stage is when a check can look: the earliest moment at which all that it needs is known.
type Stage int

// The stages. Rendered needs no cluster: the charts are rendered, and the node profile is known. Served needs an API
// server to which nothing was delivered yet, and may have asked it about every object. Settled needs a cluster whose gate
// has found all else ready, Second one in which something was delivered after that, and Removed one from which it was
// removed. Compared needs the ends of several cells of a recipe.
const (
	Rendered Stage = iota
	Served
	Settled
	Second
	Removed
	Compared
)

// String is the stage's name in lists and pages.
func (s Stage) String() string {
	return [...]string{"rendered", "served", "settled", "second", "removed", "compared"}[s]
}

// Check is one check. docs/contributing/adding-a-check.md shows how one is added.
type Check struct {
	// ID is MX and three digits. It stays for ever, and is never used for anything else.
	ID string
	// Name is words with dashes, e.g. webhook-without-service.
	Name string
	// Needs is the stage at which it runs: the earliest at which it can be sure of anything. Until is a later one, at which
	// it runs again for what it could not be sure of before; none if it is zero.
	Needs, Until Stage
	// Kinds are those of which one must be there, else it does not run; none: it always runs.
	Kinds []schema.GroupKind
	// Lanes tells whether it runs in a lane that has this order; nil: in all.
	Lanes func(Order) bool
	// First: it runs of a first delivery into an empty cluster only. A later one finds what the first has left. Later: it compares with what
	// ran before, so that it runs of an upgrade or a rollback only.
	First, Later bool
	// Observed: a step of a cell finds it while it waits or asks, and reports it by Bench.Rule or Bench.Warn. Such a check
	// has no Run. Final: the cell cannot go on after it, so that nobody can ignore it.
	Observed, Final bool
	// Gives is the reason with which a cell fails for it. Without one, what it finds are warnings.
	Gives reason.Reason
	// Title is the rule in one line. Why says what happens in a real cluster, with the source of the rule. Fix says
	// what to do.
	Title, Why, Fix string
	// Says is the end of a sentence that begins with the object, and Then is what comes of it. Both take the
	// arguments of Scope.Report as fmt does. Others are further pairs by name, for Scope.ReportAs.
	Says, Then string
	Others     map[string]Message
	// Run looks, and reports what it finds.
	Run func(*Scope)
}

// Message is what a check says in one of its cases.
type Message struct{ Says, Then string }

// KindsOf is a list of kinds, of one API group.
func KindsOf(group string, kinds ...string) (all []schema.GroupKind) {
	for _, k := range kinds {
		all = append(all, schema.GroupKind{Group: group, Kind: k})
	}
	return all
}

// Last is the stage at which it runs for the last time.
func (c *Check) Last() Stage { return max(c.Needs, c.Until) }

// Stages are the stages at which it runs, for people.
func (c *Check) Stages() string {
	if c.Last() == c.Needs {
		return c.Needs.String()
	}
	return c.Needs.String() + ", " + c.Until.String()
}

// runs reports whether a check is to run.
func (c *Check) runs(s *Scope, stage Stage) bool {
	return !c.Observed && (stage == c.Needs || stage == c.Last()) && (!c.First || !s.More()) && (!c.Later || s.Delivery != nil && s.Delivery.Before != nil) && (len(c.Kinds) == 0 || s.Has(c.Kinds...)) && (c.Lanes == nil || c.Lanes(s.Order))
}

// message is the text of one case; the name is empty for the check's own.
func (c *Check) message(name string) Message {
	if name == "" {
		return Message{c.Says, c.Then}
	}
	m, ok := c.Others[name]
	if !ok {
		panic(fmt.Sprintf("check %s has no message %q", c.ID, name))
	}
	return m
}

// Validate reports what is wrong with a list of checks: two with one ID or one name, fields that are missing.
func Validate(list []Check) (wrong []string) {
	ids, names := map[string]bool{}, map[string]bool{}
	for i := range list {
		c := &list[i]
		digits := strings.TrimPrefix(c.ID, "MX")
		if len(c.ID) != 5 || len(digits) != 3 || strings.Trim(digits, "0123456789") != "" {
			wrong = append(wrong, fmt.Sprintf("check %q (%s): its ID is not MX and three digits", c.ID, c.Name))
		}
		if ids[c.ID] {
			wrong = append(wrong, fmt.Sprintf("two checks have the ID %s", c.ID))
		}
		if names[c.Name] {
			wrong = append(wrong, fmt.Sprintf("two checks have the name %s", c.Name))
		}
		ids[c.ID], names[c.Name] = true, true
		for field, text := range map[string]string{"Name": c.Name, "Title": c.Title, "Why": c.Why, "Fix": c.Fix, "Says": c.Says, "Then": c.Then} {
			if text == "" && (field != "Says" && field != "Then" || !c.Observed) {
				wrong = append(wrong, fmt.Sprintf("check %s has no %s", c.ID, field))
			}
		}
		if c.Observed != (c.Run == nil) {
			wrong = append(wrong, fmt.Sprintf("check %s: Observed is %t, and it has a Run: %t", c.ID, c.Observed, c.Run != nil))
		}
	}
	slices.Sort(wrong)
	return wrong
}
