package recipe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// ResolveMeasured is ResolveWith for a system that was measured. Left are the overlays that its
// readings leave out. Unmeasured are the names of the constraints of the recipe that have no reading.
func (s *Store) ResolveMeasured(query Criteria, choices Choices, measure Measure) (r *Result, left []LeftOut, unmeasured []string, err error) {
	var applied []string
	if s.generation == document.March {
		applied, left, err = s.measuredChains(query.Bare(), measure)
	} else {
		applied, left, err = s.measuredLeaves(query.Bare(), measure)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	r, failed := s.resolve(query, applied, choices, measure)
	if failed != nil && len(left) > 0 {
		failed = fmt.Errorf("without overlay %s, which the system leaves out: %w", left[0].Overlay, failed)
	}
	if failed != nil {
		return nil, left, nil, failed
	}
	if len(r.Metadata.AppliedOverlays) == 0 && len(left) > 0 {
		return nil, nil, nil, fmt.Errorf("no recipe is for this system: %s", left[0])
	}
	if s.generation != document.March {
		r.Metadata.ExcludedOverlays, r.Metadata.ConstraintWarnings = measuredDocumented(left)
	}
	for _, c := range r.Constraints {
		got, err := measure(c)
		if err != nil {
			return nil, nil, nil, document.ErrorAt(c.Origin, "constraint %s: %w", c.Name, err)
		}
		if !got.Found {
			unmeasured = append(unmeasured, c.Name)
		}
	}
	return r, left, unmeasured, nil
}

// measuredChains leaves out each overlay whose constraints do not hold, with those of its bases that
// it does not replace. A constraint without a reading holds.
func (s *Store) measuredChains(query Criteria, measure Measure) (applied []string, left []LeftOut, err error) {
	applied = s.applied(query, func(o *Overlay) bool {
		m, failed := s.merge(s.chain(o))
		if failed != nil {
			err = cmp.Or(err, failed)
			return false
		}
		for _, name := range slices.Sorted(maps.Keys(m.constraints)) {
			c := m.constraints[name]
			got, failed := measure(c)
			if failed != nil {
				err = cmp.Or(err, error(document.ErrorAt(c.Origin, "constraint %s: %w", c.Name, failed)))
				return false
			}
			if got.Found && !got.Holds {
				left = append(left, LeftOut{Overlay: o.Name, Constraint: c, Reading: got})
				return false
			}
		}
		return true
	})
	// A base that was left out may be there all the same, under an overlay that replaces its
	// constraint.
	left = slices.DeleteFunc(left, func(l LeftOut) bool { return slices.Contains(applied, l.Overlay) })
	return applied, left, err
}

// measuredLeaves leaves out, as AICR does since July, each leaf with a constraint of its own that does
// not hold or has no reading, and then each leaf whose mixins have such a constraint.
func (s *Store) measuredLeaves(query Criteria, measure Measure) (applied []string, left []LeftOut, err error) {
	all := s.matches(query)
	fits := func(overlay string, c Constraint, ofMixin bool) (bool, error) {
		got, err := measure(c)
		switch {
		case err != nil:
			return false, document.ErrorAt(c.Origin, "constraint %s: %w", c.Name, err)
		case got.Found && got.Holds:
			return true, nil
		}
		left = append(left, LeftOut{Overlay: overlay, Constraint: c, Reading: got, Mixin: ofMixin})
		return false, nil
	}
	var fit, survive []*Overlay
	for _, o := range all {
		holds := true
		for _, c := range o.layer.constraints {
			if o.Name == baseOverlay {
				break // it applies to every system
			}
			ok, err := fits(o.Name, c, false)
			if err != nil {
				return nil, nil, err
			}
			holds = holds && ok
		}
		if holds {
			fit = append(fit, o)
		}
	}
	for _, o := range fit {
		holds := true
		for _, c := range s.mixedIn(o) {
			ok, err := fits(o.Name, c, true)
			if err != nil {
				return nil, nil, err
			}
			holds = holds && ok
		}
		if holds {
			survive = append(survive, o)
		}
	}
	applied = s.chains(survive)
	// A profile is chosen with the recipe; without the overlay that has it, the choice would be lost.
	before, err := s.profileOf(s.chains(all))
	if err != nil {
		return nil, nil, err
	}
	after, err := s.profileOf(applied)
	if err != nil {
		return nil, nil, err
	}
	if before != nil && after != before {
		return nil, nil, document.ErrorAt(before.Origin, "the recipe has the profile %q, and the overlay with it is left out: %s", before.Name, left[0])
	}
	return applied, left, nil
}

// mixedIn are the constraints of the mixins of an overlay and its bases.
func (s *Store) mixedIn(o *Overlay) []Constraint {
	var names []string
	for _, name := range s.chain(o) {
		names = union(names, s.overlays[name].Mixins)
	}
	var all []Constraint
	for _, name := range names {
		all = append(all, s.mixins[name].layer.constraints...)
	}
	return all
}
