package discover

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// helm is the only deployer of tier 2.
const helm = "helm"

// Entry is a cell to run, with why.
type Entry struct {
	result.Cell
	Tiers   []int    `json:"tiers"` // ascending; 0 for a recipe that was named
	Reasons []string `json:"reasons"`
}

// Skipped is a recipe that the tiers select and that cannot be run.
type Skipped struct {
	Recipe    string   `json:"recipe"`
	Deployers []string `json:"deployers"`
	Tiers     []int    `json:"tiers"`
	Reason    string   `json:"reason"`
}

// Plan is what to run. The same input gives the same plan.
type Plan struct {
	Tiers   []int     `json:"tiers"`
	Base    *Base     `json:"base,omitempty"` // with tier 2
	Entries []Entry   `json:"entries"`        // sorted by recipe, then in the order of the deployers
	Skipped []Skipped `json:"skipped"`
	Notes   []string  `json:"notes"` // what a person may ask next: why is this not among them
}

// Input is the input of Select.
type Input struct {
	Store     *recipe.Store
	Deployers []string // every lane, in the order of the output
	Tiers     []int    // of 1, 2, 3
	Diff      *Diff    // needed for tier 2
	Names     []string // recipes to run, by name, besides those of the tiers
	// Upgrades says from what the recipes are upgraded, in cells besides their first installations;
	// nil for none.
	Upgrades *Upgrades
	// Runnable says why a recipe cannot be run at all, e.g. that its nodes' properties are not
	// known.
	Runnable func(*recipe.Result) error
}

// ErrNothing says that tier 1 or 3 selected nothing: these always have something to run, unless the
// recipes directory is the wrong one.
var ErrNothing = errors.New("no recipe to run: there is none that has a service and node profiles")

// Select returns the cells of the tiers.
func Select(in Input) (*Plan, error) {
	s := &selection{Input: in, entries: map[result.Cell]*Entry{}, skipped: map[string]*Skipped{}}
	s.plan = &Plan{Tiers: in.Tiers, Entries: []Entry{}, Skipped: []Skipped{}, Notes: []string{}}
	for _, tier := range []int{1, 2, 3} {
		if !slices.Contains(in.Tiers, tier) {
			continue
		}
		if err := s.tier(tier); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(in.Names))) {
		if _, ok := in.Store.Overlay(name); !ok {
			return nil, fmt.Errorf("recipe %q does not exist; available recipes: %s", name, strings.Join(in.Store.Names(), ", "))
		}
		if err := s.add(0, name, in.Deployers, []string{"named"}); err != nil {
			return nil, err
		}
	}
	for _, e := range s.entries {
		s.plan.Entries = append(s.plan.Entries, *e)
	}
	if err := s.upgrades(); err != nil {
		return nil, err
	}
	slices.SortFunc(s.plan.Entries, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Recipe, b.Recipe), cmp.Compare(slices.Index(in.Deployers, a.Deployer), slices.Index(in.Deployers, b.Deployer)), strings.Compare(a.From, b.From))
	})
	for _, e := range s.skipped {
		s.plan.Skipped = append(s.plan.Skipped, *e)
	}
	slices.SortFunc(s.plan.Skipped, func(a, b Skipped) int { return strings.Compare(a.Recipe, b.Recipe) })
	if len(s.entries) == 0 && len(in.Names) > 0 || len(s.entries) == 0 && slices.ContainsFunc(in.Tiers, func(tier int) bool { return tier != 2 }) {
		return s.plan, ErrNothing
	}
	return s.plan, nil
}

// selection is a Plan under construction.
type selection struct {
	Input
	plan    *Plan
	entries map[result.Cell]*Entry
	skipped map[string]*Skipped
}

func (s *selection) tier(tier int) error {
	var changes *reach
	if tier == 2 {
		if s.Diff == nil {
			return errors.New("tier 2 without a comparison")
		}
		var err error
		if changes, err = reached(s.Diff, s.Store); err != nil {
			return fmt.Errorf("find what the changes reach: %w", err)
		}
		s.plan.Base = &s.Diff.Base
		s.notes(changes)
	}
	for _, name := range s.Store.Names() {
		o, _ := s.Store.Overlay(name)
		if !o.Testable() {
			continue
		}
		deployers, reasons := s.Deployers, []string{"overlay with a service"}
		switch tier {
		case 1:
			if !o.Generic() {
				continue
			}
			reasons = []string{"generic overlay"}
		case 2:
			if o.Generic() || len(changes.reasons[name]) == 0 {
				continue
			}
			deployers, reasons = []string{helm}, changes.reasons[name]
		}
		for i, v := range s.Store.Variants(name) {
			if i > 0 && tier < 3 {
				break // the default, which is the recipe's own name
			}
			why := reasons
			if v.Profile != "" {
				why = append(slices.Clone(reasons), "profile "+v.Profile+"="+v.Value)
			}
			if err := s.add(tier, v.Name, deployers, why); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *selection) add(tier int, name string, deployers, reasons []string) error {
	resolved, err := s.Store.ResolveName(name)
	if err != nil {
		return err
	}
	if err := s.Runnable(resolved); err != nil {
		if s.skipped[name] == nil {
			s.skipped[name] = &Skipped{Recipe: name, Reason: err.Error()}
		}
		skipped := s.skipped[name]
		skipped.Tiers = append(skipped.Tiers, tier)
		for _, d := range deployers {
			if !slices.Contains(skipped.Deployers, d) {
				skipped.Deployers = append(skipped.Deployers, d)
			}
		}
		return nil
	}
	for _, d := range deployers {
		cell := result.Cell{Recipe: name, Deployer: d}
		if s.entries[cell] == nil {
			s.entries[cell] = &Entry{Cell: cell}
		}
		e := s.entries[cell]
		e.Tiers = append(e.Tiers, tier)
		e.Reasons = append(e.Reasons, reasons...)
	}
	return nil
}

// maxNotes keeps a change of thousands of files readable.
const maxNotes = 20

// notes reports changes that select nothing.
func (s *selection) notes(changes *reach) {
	d := s.Diff
	add := func(format string, args ...any) { s.plan.Notes = append(s.plan.Notes, fmt.Sprintf(format, args...)) }
	if d.Before != nil {
		for _, name := range d.Before.Names() {
			if _, ok := s.Store.Overlay(name); !ok {
				add("overlay %s was removed", name)
			}
		}
	}
	if changes.used[""] {
		return // what changed is unknown, and each reason says so
	}
	unused := 0
	for _, file := range d.Changed {
		path, in := d.pathOf(file)
		in = in || slices.ContainsFunc(d.charts, func(dir chartDir) bool { return strings.HasPrefix(file, dir.path) })
		if !in || changes.used[file] {
			continue
		}
		if changes.same[file] || path == recipe.RegistryFile || path == baseFile || strings.HasPrefix(path, "overlays/") {
			add("%s changed, but every recipe resolves to the same as before", printable(file))
			continue
		}
		if unused++; unused <= maxNotes {
			add("%s has no part in any recipe", printable(file))
		}
	}
	if unused > maxNotes {
		add("and %d more files that have no part in any recipe", unused-maxNotes)
	}
}
