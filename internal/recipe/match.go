package recipe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/criteria"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// applied returns the names of the overlays that the query selects, in the order in which they
// apply (resolution rules 1 to 3). It skips matching overlays for which fits returns false.
func (s *Store) applied(query Criteria, fits func(*Overlay) bool) []string {
	var matches []*Overlay
	for _, name := range s.Names() {
		if o := s.overlays[name]; o.Criteria.Matches(query) && fits(o) {
			matches = append(matches, o)
		}
	}
	if s.generation != document.March {
		matches = s.maximalLeaves(matches)
	}
	slices.SortFunc(matches, func(a, b *Overlay) int {
		return cmp.Or(cmp.Compare(a.Criteria.Specificity(), b.Criteria.Specificity()), strings.Compare(a.Name, b.Name))
	})
	var names []string
	for _, o := range matches {
		for _, name := range s.chain(o) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// maximalLeaves leaves out what is a base of another match: it applies as a part of that one's chain.
func (s *Store) maximalLeaves(matches []*Overlay) []*Overlay {
	bases := map[string]bool{}
	for _, o := range matches {
		chain := s.chain(o)
		for _, name := range chain[:len(chain)-1] {
			bases[name] = true
		}
	}
	return slices.DeleteFunc(matches, func(o *Overlay) bool { return bases[o.Name] })
}

// chain is the overlay's bases, root first, and itself. Open has refused cycles and missing bases.
func (s *Store) chain(o *Overlay) []string {
	names := []string{o.Name}
	for o.Base != "" {
		o = s.overlays[o.Base]
		names = append(names, o.Name)
	}
	slices.Reverse(names)
	return names
}

// CheckCriteria returns an *UnknownValueError for a value that neither AICR nor an overlay has.
// Such a query would match the overlays that are for any value, so that a typing error would give a
// recipe.
func (s *Store) CheckCriteria(c Criteria) error {
	return c.Check(s.CriteriaValues())
}

// Unused returns the criteria of the query that no overlay of the result sets, as "service lke": the
// recipe is not specific to them. It ignores the number of nodes.
func (s *Store) Unused(r *Result) []string {
	var unused []string
	asked := r.Criteria
	for i, f := range asked.Fields() {
		used := slices.ContainsFunc(r.Metadata.AppliedOverlays, func(name string) bool {
			o, ok := s.overlays[name]
			return ok && *o.Criteria.Fields()[i] == *f
		})
		if criteria.Set(*f) && !used {
			unused = append(unused, criteria.Names()[i]+" "+*f)
		}
	}
	return unused
}

// CriteriaValues gives, for each criterion by its name in a recipe, the values that the overlays
// are for, sorted. A query for another value matches the overlays that are for any, and those only;
// CheckCriteria is for queries of people.
func (s *Store) CriteriaValues() map[string][]string {
	names := criteria.Names()
	values := map[string][]string{}
	for _, o := range s.overlays {
		c := o.Criteria
		for i, f := range c.Fields() {
			if criteria.Set(*f) && !slices.Contains(values[names[i]], *f) {
				values[names[i]] = append(values[names[i]], *f)
			}
		}
	}
	for _, list := range values {
		slices.Sort(list)
	}
	return values
}

// UncoveredError is a query with a criterion that no matching overlay sets. A recipe that ignores
// the criterion could be mistaken for an answer (AICR's issue 1542).
type UncoveredError struct{ Reasons []string }

func (e *UncoveredError) Error() string { return strings.Join(e.Reasons, "; ") }

// covered rejects a query with a criterion that none of the applied overlays sets. AICR of March had
// no such rule.
func (s *Store) covered(query Criteria, applied []string) error {
	if s.generation == document.March {
		return nil
	}
	asked := query.Bare()
	var all []Criteria
	for _, name := range s.Names() {
		all = append(all, s.overlays[name].Criteria)
	}
	var reasons []string
	for i, f := range asked.Fields() {
		if !criteria.Set(*f) || slices.ContainsFunc(applied, func(name string) bool { return *s.overlays[name].Criteria.Fields()[i] == *f }) {
			continue
		}
		reasons = append(reasons, criteria.Completion(asked, i, all))
	}
	if len(reasons) > 0 {
		return &UncoveredError{reasons}
	}
	return nil
}
