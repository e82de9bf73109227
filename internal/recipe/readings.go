package recipe

// readings.go has what a measured system makes of a recipe: which overlays its readings leave
// out, and why. It must not know how a recipe is resolved, or what a snapshot is.

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Measure says what a measured system has for a constraint.
type Measure func(c document.Constraint) (Reading, error)

// Reading is a reading, and whether the constraint holds. Found is false if there is no such
// reading.
type Reading struct {
	Have         string
	Found, Holds bool
}

// LeftOut is an overlay that would apply, and whose constraint does not hold on the measured
// system.
type LeftOut struct {
	Overlay    string
	Constraint document.Constraint
	Reading    Reading
	Mixin      bool // the constraint is that of a mixin of the overlay
}

// String says so in one line, with the constraint's place.
func (l LeftOut) String() string {
	text := fmt.Sprintf("overlay %s is left out: its constraint %s %s (%s)", l.Overlay, l.Constraint.Name, l.Constraint.Value, l.Constraint.Origin)
	if !l.Reading.Found {
		return text + " cannot be checked; the snapshot has no such reading"
	}
	return text + " does not hold; the system has " + l.Reading.Have
}

// ExcludedByReading is an overlay that was left out, as AICR's documents say it.
type ExcludedByReading struct {
	Name   string `json:"name"`
	Reason string `json:"reason"` // constraint-failed or mixin-constraint-failed
}

// ReadingWarning is why an overlay was left out, as AICR's documents say it.
type ReadingWarning struct {
	Overlay    string `json:"overlay"`
	Constraint string `json:"constraint"`
	Expected   string `json:"expected"`
	Actual     string `json:"actual,omitempty"`
	Reason     string `json:"reason"`
}

// measuredDocumented is what was left out as AICR's documents say it.
func measuredDocumented(left []LeftOut) (overlays []ExcludedByReading, warnings []ReadingWarning) {
	for _, l := range left {
		e := ExcludedByReading{l.Overlay, "constraint-failed"}
		if l.Mixin {
			e.Reason = "mixin-constraint-failed"
		}
		if !slices.Contains(overlays, e) {
			overlays = append(overlays, e)
		}
		w := ReadingWarning{Overlay: l.Overlay, Constraint: l.Constraint.Name, Expected: l.Constraint.Value, Actual: l.Reading.Have}
		if w.Reason = fmt.Sprintf("expected %s, got %s", l.Constraint.Value, l.Reading.Have); !l.Reading.Found {
			w.Reason = "the snapshot has no such reading"
		}
		warnings = append(warnings, w)
	}
	return overlays, warnings
}
