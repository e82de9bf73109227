package recipe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/criteria"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// applied gives the names of the overlays that the query brings, in the order in which they apply
// (resolution rules 1 to 3). Of those that match, only the ones that fit count.
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

// CheckCriteria refuses a value that neither AICR knows nor an overlay is for (*UnknownValueError):
// the query would match the overlays that are for any value, and a typing error would look like an
// answer.
func (s *Store) CheckCriteria(c Criteria) error {
	return c.Check(s.CriteriaValues())
}

// Unused gives the criteria of the query that no overlay of the result is for, as "service lke":
// the recipe has nothing of its own for them. The number of nodes is not among them.
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
