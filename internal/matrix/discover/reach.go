package discover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// reach says which changes affect which overlays.
type reach struct {
	diff *Diff
	now  *recipe.Store

	registry []string // the components whose registry entries changed
	reasons  map[string][]string
	used     map[string]bool // the changed files that reach an overlay
	same     map[string]bool // those that say what they said before
	deployed bool            // only what is deployed counts, and not what verifies it
}

// baseFile is the root of every chain of overlays.
const baseFile = "overlays/base.yaml"

// reached examines every overlay, including those that tier 2 leaves out: a file that reaches one
// of those affects a recipe.
func reached(d *Diff, now *recipe.Store) (*reach, error) {
	r := newReach(d, now)
	for _, name := range now.Names() {
		reasons, err := r.overlay(name)
		if err != nil {
			return nil, err
		}
		r.reasons[name] = reasons
	}
	return r, nil
}

func newReach(d *Diff, now *recipe.Store) *reach {
	r := &reach{diff: d, now: now, reasons: map[string][]string{}, used: map[string]bool{}, same: map[string]bool{}}
	if d.Before == nil {
		return r
	}
	r.registry = recipe.ChangedComponents(d.Before, now)
	for _, file := range d.Changed {
		if path, ok := d.pathOf(file); ok {
			r.same[file] = recipe.SameContent(d.Before, now, path)
		}
	}
	return r
}

// overlay returns the reasons why a change reaches the overlay, in the order of its inputs.
func (r *reach) overlay(name string) ([]string, error) {
	d := r.diff
	if d.BeforeErr != nil {
		r.used[""] = true
		return []string{fmt.Sprintf("the recipes of %s cannot be read, so that what changed is unknown", d.Base.Of)}, nil
	}
	inputs, err := r.now.Inputs(name)
	if err != nil {
		return nil, err
	}
	_, existed := overlayOf(d.Before, name)
	var differ recipe.Differences
	if existed {
		before, err := d.Before.Inputs(name)
		if err != nil {
			r.used[""] = true
			return []string{fmt.Sprintf("its recipe in %s cannot be resolved, so that what changed is unknown", d.Base.Of)}, nil
		}
		inputs = append(inputs, before...)
		if differ, err = recipe.Compare(d.Before, r.now, name); err != nil {
			return nil, err
		}
	}
	var reasons []string
	add := func(file, reason string) {
		r.used[file] = true
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	for _, in := range inputs {
		if r.deployed && in.Verifies || existed && !differ.Any && resolved(in) {
			continue // what changed in it makes no difference to this recipe
		}
		for _, file := range d.Changed {
			path, ok := d.pathOf(file)
			if ok && !r.same[file] && (path == in.Path || strings.HasSuffix(in.Path, "/") && strings.HasPrefix(path, in.Path)) {
				add(file, fmt.Sprintf("%s (%s)", printable(file), in.Role))
			}
		}
	}
	result, err := r.now.ResolveName(name)
	if err != nil {
		return nil, err
	}
	// A component that the recipe has no more was removed in one of the inputs.
	for _, c := range result.ComponentRefs {
		for _, file := range d.Changed {
			if chart := d.chartOf(file); chart != "" && chart == c.Chart {
				add(file, fmt.Sprintf("%s (chart of %s)", printable(file), c.Name))
			}
		}
		if file := d.locked.file; file != "" && slices.Contains(d.Changed, file) && d.locked.has(c.Name) {
			add(file, fmt.Sprintf("%s (locked chart of %s)", file, c.Name))
		}
		if slices.Contains(r.registry, c.Name) && (!existed || slices.Contains(differ.Components, c.Name)) {
			for _, file := range d.registries() {
				add(file, fmt.Sprintf("%s (entry of %s)", printable(file), c.Name))
			}
		}
	}
	return reasons, nil
}

// resolved reports whether an input counts by what the recipe resolves to: an overlay or a mixin.
func resolved(in recipe.Input) bool {
	return strings.HasPrefix(in.Path, "overlays/") || strings.HasPrefix(in.Path, "mixins/")
}

// overlayOf accepts a nil store.
func overlayOf(s *recipe.Store, name string) (*recipe.Overlay, bool) {
	if s == nil {
		return nil, false
	}
	return s.Overlay(name)
}

// printable quotes a file name that a log could interpret, such as a workflow command after a line
// break.
func printable(file string) string {
	if quoted := fmt.Sprintf("%q", file); quoted != `"`+file+`"` {
		return quoted
	}
	return file
}
