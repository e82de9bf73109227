package discover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// Upgrades says from what recipes are upgraded.
type Upgrades struct {
	// From is the source as the user wrote it.
	From string
	// Diff is what changed since then. Nil: every recipe is upgraded, changed or not.
	Diff *Diff

	changes *reach
}

// Reasons returns why a recipe has an upgrade cell: what changed of the bundle that it resolves to.
// If it has none, without says why.
func (u *Upgrades) Reasons(now *recipe.Store, name string) (reasons []string, without string, err error) {
	asked := []string{"upgrade from " + u.From}
	if u.Diff == nil {
		return asked, "", nil
	}
	if u.changes == nil {
		u.changes = newReach(u.Diff, now)
		u.changes.deployed = true
	}
	if _, existed := overlayOf(u.Diff.Before, name); !existed && u.Diff.BeforeErr == nil {
		return nil, u.From + " has no such recipe", nil
	}
	if reasons, err = u.changes.overlay(name); err != nil {
		return nil, "", fmt.Errorf("find what changed in recipe %s since %s: %w", name, u.From, err)
	}
	if len(reasons) == 0 {
		return nil, "the resolved bundle did not change", nil
	}
	return slices.Concat(asked, reasons), "", nil
}

// Left says, a line for each cause, which recipes have no upgrade; the causes are by recipe.
func (u *Upgrades) Left(without map[string]string) []string {
	byCause := map[string][]string{}
	for name, why := range without {
		byCause[why] = append(byCause[why], name)
	}
	var lines []string
	for why, names := range byCause {
		slices.Sort(names)
		if more := len(names) - maxNotes; more > 0 {
			names = append(names[:maxNotes], fmt.Sprintf("and %d more", more))
		}
		lines = append(lines, fmt.Sprintf("no upgrade from %s of %s: %s", u.From, strings.Join(names, ", "), why))
	}
	slices.Sort(lines)
	return lines
}

// upgrades adds an upgrade to each cell of a recipe that changed.
func (s *selection) upgrades() error {
	u := s.Upgrades
	if u == nil {
		return nil
	}
	without := map[string]string{}
	for _, e := range slices.Clone(s.plan.Entries) {
		reasons, why, err := u.Reasons(s.Store, e.Recipe)
		if err != nil {
			return err
		}
		if why != "" {
			without[e.Recipe] = why
			continue
		}
		e.From, e.Reasons = u.From, reasons
		s.plan.Entries = append(s.plan.Entries, e)
	}
	if u.Diff != nil && s.plan.Base == nil {
		s.plan.Base = &u.Diff.Base
	}
	s.plan.Notes = append(s.plan.Notes, u.Left(without)...)
	return nil
}
