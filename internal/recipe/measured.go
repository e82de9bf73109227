package recipe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// LeftOut is an overlay that would apply, and whose constraint does not hold on the measured
// system.
type LeftOut struct {
	Overlay    string
	Constraint Constraint
	Have       string // the reading
}

// String says so in one line, with the constraint's place.
func (l LeftOut) String() string {
	return fmt.Sprintf("overlay %s is left out: its constraint %s %s (%s) does not hold; the system has %s", l.Overlay, l.Constraint.Name, l.Constraint.Value, l.Constraint.Origin, l.Have)
}

// ResolveMeasured is Resolve for a system that was measured. Value gives a reading by the name of a
// constraint, TYPE.SUBTYPE.KEY. An overlay whose constraints do not hold there, with those of its
// bases that it does not replace, is left out. Unmeasured are the names of the constraints of the
// recipe that have no reading.
func (s *Store) ResolveMeasured(query Criteria, choices Choices, value func(name string) (string, bool)) (r *Result, left []LeftOut, unmeasured []string, err error) {
	fits := func(o *Overlay) bool {
		m, failed := s.merge(s.chain(o))
		if failed != nil {
			err = failed
			return false
		}
		for _, name := range slices.Sorted(maps.Keys(m.constraints)) {
			c := m.constraints[name]
			have, ok := value(name)
			if !ok {
				continue
			}
			holds, failed := c.Holds(have)
			if failed != nil {
				err = document.ErrorAt(c.Origin, "constraint %s: %w", c.Name, failed)
				return false
			}
			if !holds {
				left = append(left, LeftOut{Overlay: o.Name, Constraint: c, Have: have})
				return false
			}
		}
		return true
	}
	r, failed := s.resolve(query, fits, choices)
	if err = cmp.Or(err, failed); err != nil {
		return nil, nil, nil, err
	}
	if len(r.Metadata.AppliedOverlays) == 0 && len(left) > 0 {
		return nil, nil, nil, fmt.Errorf("no recipe is for this system: %s", left[0])
	}
	// A base that was left out may be there all the same, under an overlay that replaces its
	// constraint.
	left = slices.DeleteFunc(left, func(l LeftOut) bool { return slices.Contains(r.Metadata.AppliedOverlays, l.Overlay) })
	for _, c := range r.Constraints {
		if _, ok := value(c.Name); !ok {
			unmeasured = append(unmeasured, c.Name)
		}
	}
	return r, left, unmeasured, nil
}
