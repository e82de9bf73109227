// Package upgrades reads AICR's records of how one version of a component becomes another
// (ComponentUpgrades), and judges the move from one recipe to another by them. It must not know where
// recipes come from, or deployers beyond their names.
package upgrades

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Verdict is whether a component can be moved from one version to another.
type Verdict string

// The verdicts: the first three are written in records, the others are found.
const (
	Safe    Verdict = "safe"
	Manual  Verdict = "manual"
	Blocked Verdict = "blocked"
	// Unknown: no record is about the move.
	Unknown Verdict = "unknown"
	// Unversioned: the versions of a side cannot be compared.
	Unversioned Verdict = "unversioned"
)

// Deployers are those that steps are for, by AICR's names.
func Deployers() []string { return []string{"argocd", "argocd-helm", "flux", "helm", "helmfile"} }

// Record is a component's file of upgrades.
type Record struct {
	File        string
	Component   string
	Transitions []Transition // in the order of the versions that they lead to
	Unknown     []string     // what the file has and this release does not know, for people
}

// Transition is what a record says of moving into a range of versions.
type Transition struct {
	From, To        Range
	Verdict         Verdict
	Summary         string
	Precondition    string
	Reversible      string // as it is written: true, false, or for how long
	ReversibleNotes string
	VerifiedBy      string
	References      []string
	Affected        []Affected
	Hooks           []Hook
	Origin          document.Origin

	steps []stepGroup
}

// Affected are the kinds of objects that the move changes or removes.
type Affected struct {
	Group string   `json:"group"`
	Kinds []string `json:"kinds"`
}

// Hook is a file that AICR delivers around the move.
type Hook struct {
	File  string `json:"file"`
	Phase string `json:"phase"`
}

// Step is what a person does for the move.
type Step struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Reason      string `json:"reason,omitempty"`
}

type stepGroup struct {
	Deployers []string `json:"deployers"`
	Steps     []Step   `json:"steps"`
}

type recordDocument struct {
	APIVersion  string         `json:"apiVersion"`
	Kind        string         `json:"kind"`
	Metadata    map[string]any `json:"metadata"`
	Component   string         `json:"component"`
	Transitions []struct {
		From              string      `json:"from"`
		To                string      `json:"to"`
		Verdict           string      `json:"verdict"`
		Summary           string      `json:"summary"`
		Precondition      string      `json:"precondition"`
		Reversible        string      `json:"reversible"`
		ReversibleNotes   string      `json:"reversibleNotes"`
		VerifiedBy        string      `json:"verifiedBy"`
		StepsByDeployer   []stepGroup `json:"stepsByDeployer"`
		AffectedResources []Affected  `json:"affectedResources"`
		References        []string    `json:"references"`
		Hooks             []Hook      `json:"hooks"`
	} `json:"transitions"`
}

// Read reads a component's records. File is how messages call it. If anything is wrong, the error
// joins a *document.FileError for every problem.
func Read(file, component string, data []byte) (*Record, error) {
	d := &document.Decoder{File: file, Lenient: true}
	root, found := document.ParseYAML(file, data)
	d.AddAll(found)
	if len(found) > 0 || !d.Header(root, document.UpgradesKind) {
		return nil, d.Err()
	}
	var doc recordDocument
	d.Decode(root, &doc, "")
	at := func(steps ...any) document.Origin {
		return document.Origin{File: file, Line: document.LineOf(root, steps...)}
	}
	if doc.Component != component {
		d.Add(at("component"), "component is %.100q, and the registry names this file for %s; correct one of them", doc.Component, component)
	}
	r := &Record{File: file, Component: component}
	for i, t := range doc.Transitions {
		made := Transition{
			Verdict: Verdict(t.Verdict), Summary: t.Summary, Precondition: t.Precondition, Reversible: t.Reversible, ReversibleNotes: t.ReversibleNotes, VerifiedBy: t.VerifiedBy,
			References: t.References, Affected: t.AffectedResources, Hooks: t.Hooks, Origin: at("transitions", i), steps: t.StepsByDeployer,
		}
		c := checker{d, root, i}
		made.From, made.To = c.ranges(t.From, t.To)
		c.verdict(&made)
		c.affected(&made)
		r.Transitions = append(r.Transitions, made)
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	r.Unknown = document.Lines(d.Notes)
	slices.SortStableFunc(r.Transitions, func(a, b Transition) int { return a.To.compareBegin(b.To) })
	return r, nil
}

// checker says what is wrong with a transition.
type checker struct {
	*document.Decoder
	root *yaml.Node
	i    int
}

func (c checker) add(steps []any, format string, args ...any) {
	line := document.LineOf(c.root, append([]any{"transitions", c.i}, steps...)...)
	c.Add(document.Origin{File: c.File, Line: line}, format, args...)
}

// ranges reads the versions that a transition leads from and to. A move backwards has no record.
func (c checker) ranges(from, to string) (Range, Range) {
	a, err := parseRange(from)
	if err != nil {
		c.add([]any{"from"}, "from: %w", err)
	} else if a.upper == nil {
		c.add([]any{"from"}, "from %q has no upper bound, so that it may lead backwards; add one, e.g. <1.3.0", from)
	}
	b, err := parseRange(to)
	switch {
	case err != nil:
		c.add([]any{"to"}, "to: %w", err)
	case b.lower == nil || b.upper == nil:
		c.add([]any{"to"}, "to %q needs a lower and an upper bound: from where on it holds, and how far it was looked at", to)
	case a.upper != nil && !a.endsBefore(b):
		c.add([]any{"to"}, "to %q begins before from %q ends; a record is of a move forward", to, from)
	}
	return a, b
}

// verdict holds a transition to what its verdict needs.
func (c checker) verdict(t *Transition) {
	switch t.Verdict {
	case Safe:
		if t.VerifiedBy == "" {
			c.add([]any{"verdict"}, "the verdict safe needs verifiedBy: the lane, the run or the release note that shows it")
		}
		if len(t.steps) > 0 {
			c.add([]any{"stepsByDeployer"}, "the verdict safe has no steps: with steps it is %s", Manual)
		}
	case Manual, Blocked:
		if t.Summary == "" {
			c.add([]any{"verdict"}, "the verdict %s needs a summary: what breaks", t.Verdict)
		}
		if missing := c.groups(t); len(missing) > 0 {
			c.add([]any{"stepsByDeployer"}, "the verdict %s needs steps for every deployer, and there are none for %s", t.Verdict, strings.Join(missing, ", "))
		}
	default:
		c.add([]any{"verdict"}, "verdict is %.100q; write %s, %s or %s", t.Verdict, Safe, Manual, Blocked)
	}
}

// affected checks that the objects which a transition affects can be looked for.
func (c checker) affected(t *Transition) {
	for i, a := range t.Affected {
		if len(a.Kinds) == 0 || slices.Contains(a.Kinds, "") {
			c.add([]any{"affectedResources", i}, "affectedResources of the group %.100q names no kind; add the kinds, e.g. kinds: [Certificate]", a.Group)
		}
	}
}

// groups checks the steps, and gives the deployers that have none.
func (c checker) groups(t *Transition) (missing []string) {
	seen, rest := map[string]bool{}, false
	for i, g := range t.steps {
		at := []any{"stepsByDeployer", i}
		if len(g.Steps) == 0 {
			c.add(at, "the group has no steps; add one, or remove the group")
		}
		if len(g.Deployers) == 0 {
			if rest {
				c.add(at, "a second group without deployers, which is for all that no other group names; keep one")
			}
			rest = true
		}
		for _, name := range g.Deployers {
			if !slices.Contains(Deployers(), name) {
				c.add(append(at, "deployers"), "%.100q is no deployer; %s they are %s", name, lists.Hint(name, Deployers()), strings.Join(Deployers(), ", "))
			}
			if seen[name] {
				c.add(append(at, "deployers"), "%s is in two groups; keep one", name)
			}
			seen[name] = true
		}
		ids := map[string]bool{}
		for j, s := range g.Steps {
			if s.ID == "" || s.Description == "" || ids[s.ID] {
				c.add(append(at, "steps", j), "a step needs an id, which its group has once, and a description")
			}
			ids[s.ID] = true
		}
	}
	if rest {
		return nil
	}
	return slices.DeleteFunc(Deployers(), func(name string) bool { return seen[name] })
}

// Steps are those of a deployer; those of the group without deployers, if no other one names it.
func (t *Transition) Steps(deployer string) []Step {
	var rest []Step
	for _, g := range t.steps {
		if slices.Contains(g.Deployers, deployer) {
			return g.Steps
		}
		if len(g.Deployers) == 0 {
			rest = g.Steps
		}
	}
	return rest
}

// HasSteps reports whether there is anything to do, for any deployer.
func (t *Transition) HasSteps() bool { return len(t.steps) > 0 }

// String is the transition's place and ranges.
func (t *Transition) String() string {
	return fmt.Sprintf("%s to %s (%s)", t.From, t.To, t.Origin)
}
