package recipe

// record.go reads AICR's records of how one version of a component becomes another
// (ComponentUpgrades), and judges the move from one recipe to another by them. It must not know where
// recipes come from, or deployers beyond their names.

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// UpgradeVerdict is whether a component can be moved from one version to another.
type UpgradeVerdict string

// The verdicts: the first three are written in records, the others are found.
const (
	UpgradeSafe    UpgradeVerdict = "safe"
	UpgradeManual  UpgradeVerdict = "manual"
	upgradeBlocked UpgradeVerdict = "blocked"
	// upgradeUnknown: no record is about the move.
	upgradeUnknown UpgradeVerdict = "unknown"
	// UpgradeUnversioned: the versions of a side cannot be compared.
	UpgradeUnversioned UpgradeVerdict = "unversioned"
)

// UpgradeDeployers are those that steps are for, by AICR's names.
func UpgradeDeployers() []string {
	return []string{"argocd", "argocd-helm", "flux", "helm", "helmfile"}
}

// UpgradeRecord is a component's file of upgrades.
type UpgradeRecord struct {
	File        string
	Component   string
	Transitions []UpgradeTransition // in the order of the versions that they lead to
	Unknown     []string            // what the file has and this release does not know, for people
}

// UpgradeTransition is what a record says of moving into a range of versions.
type UpgradeTransition struct {
	From, To        UpgradeRange
	Verdict         UpgradeVerdict
	Summary         string
	Precondition    string
	Reversible      string // as it is written: true, false, or for how long
	ReversibleNotes string
	VerifiedBy      string
	References      []string
	Affected        []AffectedByUpgrade
	Hooks           []UpgradeHook
	Origin          document.Origin

	steps []stepGroup
}

// AffectedByUpgrade are the kinds of objects that the move changes or removes.
type AffectedByUpgrade struct {
	Group string   `json:"group"`
	Kinds []string `json:"kinds"`
}

// UpgradeHook is a file that AICR delivers around the move.
type UpgradeHook struct {
	File  string `json:"file"`
	Phase string `json:"phase"`
}

// UpgradeStep is what a person does for the move.
type UpgradeStep struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Reason      string `json:"reason,omitempty"`
}

type stepGroup struct {
	Deployers []string      `json:"deployers"`
	Steps     []UpgradeStep `json:"steps"`
}

type recordDocument struct {
	APIVersion  string         `json:"apiVersion"`
	Kind        string         `json:"kind"`
	Metadata    map[string]any `json:"metadata"`
	Component   string         `json:"component"`
	Transitions []struct {
		From              string              `json:"from"`
		To                string              `json:"to"`
		Verdict           string              `json:"verdict"`
		Summary           string              `json:"summary"`
		Precondition      string              `json:"precondition"`
		Reversible        string              `json:"reversible"`
		ReversibleNotes   string              `json:"reversibleNotes"`
		VerifiedBy        string              `json:"verifiedBy"`
		StepsByDeployer   []stepGroup         `json:"stepsByDeployer"`
		AffectedResources []AffectedByUpgrade `json:"affectedResources"`
		References        []string            `json:"references"`
		Hooks             []UpgradeHook       `json:"hooks"`
	} `json:"transitions"`
}

// ReadUpgrades reads a component's records. File is how messages call it. If anything is wrong, the error
// joins a *document.FileError for every problem.
func ReadUpgrades(file, component string, data []byte) (*UpgradeRecord, error) {
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
	r := &UpgradeRecord{File: file, Component: component}
	for i, t := range doc.Transitions {
		made := UpgradeTransition{
			Verdict: UpgradeVerdict(t.Verdict), Summary: t.Summary, Precondition: t.Precondition, Reversible: t.Reversible, ReversibleNotes: t.ReversibleNotes, VerifiedBy: t.VerifiedBy,
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
	slices.SortStableFunc(r.Transitions, func(a, b UpgradeTransition) int { return a.To.compareBegin(b.To) })
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
func (c checker) ranges(from, to string) (UpgradeRange, UpgradeRange) {
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
func (c checker) verdict(t *UpgradeTransition) {
	switch t.Verdict {
	case UpgradeSafe:
		if t.VerifiedBy == "" {
			c.add([]any{"verdict"}, "the verdict safe needs verifiedBy: the lane, the run or the release note that shows it")
		}
		if len(t.steps) > 0 {
			c.add([]any{"stepsByDeployer"}, "the verdict safe has no steps: with steps it is %s", UpgradeManual)
		}
	case UpgradeManual, upgradeBlocked:
		if t.Summary == "" {
			c.add([]any{"verdict"}, "the verdict %s needs a summary: what breaks", t.Verdict)
		}
		if missing := c.groups(t); len(missing) > 0 {
			c.add([]any{"stepsByDeployer"}, "the verdict %s needs steps for every deployer, and there are none for %s", t.Verdict, strings.Join(missing, ", "))
		}
	default:
		c.add([]any{"verdict"}, "verdict is %.100q; write %s, %s or %s", t.Verdict, UpgradeSafe, UpgradeManual, upgradeBlocked)
	}
}

// affected checks that the objects which a transition affects can be looked for.
func (c checker) affected(t *UpgradeTransition) {
	for i, a := range t.Affected {
		if len(a.Kinds) == 0 || slices.Contains(a.Kinds, "") {
			c.add([]any{"affectedResources", i}, "affectedResources of the group %.100q names no kind; add the kinds, e.g. kinds: [Certificate]", a.Group)
		}
	}
}

// groups checks the steps, and gives the deployers that have none.
func (c checker) groups(t *UpgradeTransition) (missing []string) {
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
			if !slices.Contains(UpgradeDeployers(), name) {
				c.add(append(at, "deployers"), "%.100q is no deployer; %s they are %s", name, lists.Hint(name, UpgradeDeployers()), strings.Join(UpgradeDeployers(), ", "))
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
	return slices.DeleteFunc(UpgradeDeployers(), func(name string) bool { return seen[name] })
}

// Steps are those of a deployer; those of the group without deployers, if no other one names it.
func (t *UpgradeTransition) Steps(deployer string) []UpgradeStep {
	var rest []UpgradeStep
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
func (t *UpgradeTransition) HasSteps() bool { return len(t.steps) > 0 }

// String is the transition's place and ranges.
func (t *UpgradeTransition) String() string {
	return fmt.Sprintf("%s to %s (%s)", t.From, t.To, t.Origin)
}
