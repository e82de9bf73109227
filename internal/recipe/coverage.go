package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/criteria"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// UncoveredError is a query that asks for more than any recipe has: a recipe without it would look
// like an answer (AICR's issue 1542).
type UncoveredError struct{ Reasons []string }

func (e *UncoveredError) Error() string { return strings.Join(e.Reasons, "; ") }

// covered refuses a query with a criterion that none of the applied overlays is for. March had no
// such rule.
func (s *Store) covered(query Criteria, applied []string) error {
	if s.generation == document.March {
		return nil
	}
	asked := query.Bare()
	var reasons []string
	for i, f := range asked.Fields() {
		if !criteria.Set(*f) || slices.ContainsFunc(applied, func(name string) bool { return *s.overlays[name].Criteria.Fields()[i] == *f }) {
			continue
		}
		reasons = append(reasons, s.completion(asked, i))
	}
	if len(reasons) > 0 {
		return &UncoveredError{reasons}
	}
	return nil
}

// completion says with which further criteria a recipe has the one with that number.
func (s *Store) completion(asked Criteria, i int) string {
	names := criteria.Names()
	want := *asked.Fields()[i]
	var found []map[string]string
	for _, o := range s.overlays {
		own := o.Criteria.Bare()
		has := own.Fields()
		if *has[i] != want {
			continue
		}
		more, fits := map[string]string{}, true
		for j, f := range asked.Fields() {
			switch {
			case j == i || !criteria.Set(*has[j]):
			case !criteria.Set(*f):
				more[names[j]] = *has[j]
			case *f != *has[j]:
				fits = false
			}
		}
		if fits && len(more) > 0 {
			found = append(found, more)
		}
	}
	var ways []string
	for _, way := range found {
		// What another way asks for alone is enough.
		if !slices.ContainsFunc(found, func(other map[string]string) bool { return len(other) < len(way) && contains(way, other) }) {
			ways = append(ways, spell(way))
		}
	}
	slices.Sort(ways)
	ways = slices.Compact(ways)
	if len(ways) == 0 {
		return fmt.Sprintf("no recipe is for %s %s together with the rest of the query; ask for less", names[i], want)
	}
	return fmt.Sprintf("a recipe for %s %s needs more than the query has: add %s", names[i], want, strings.Join(ways, ", or "))
}

func contains(all, part map[string]string) bool {
	for key, value := range part {
		if all[key] != value {
			return false
		}
	}
	return true
}

func spell(way map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(way)) {
		parts = append(parts, "--"+key+" "+way[key])
	}
	return strings.Join(parts, " ")
}
