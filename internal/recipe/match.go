package recipe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// applied returns the names of the overlays that the query selects, in the order in which they
// apply (resolution rules 1 to 3). It skips matching overlays for which fits returns false.
func (s *Store) applied(query Criteria, fits func(*Overlay) bool) []string {
	return s.chains(slices.DeleteFunc(s.matches(query), func(o *Overlay) bool { return !fits(o) }))
}

// matches gives the overlays that the query selects by themselves, and not as the base of another
// one. Since July those are the maximal leaves. An overlay without criteria is only ever a base.
func (s *Store) matches(query Criteria) []*Overlay {
	var matches []*Overlay
	for _, name := range s.Names() {
		o := s.overlays[name]
		own := o.Criteria
		if s.generation != document.March {
			own.Nodes = 0 // AICR's issue 1781
		}
		if (o.lines.criteria != 0 || name == baseOverlay) && own.Matches(query) {
			matches = append(matches, o)
		}
	}
	if s.generation != document.March {
		matches = s.maximalLeaves(matches)
	}
	slices.SortFunc(matches, func(a, b *Overlay) int {
		return cmp.Or(cmp.Compare(a.Criteria.Specificity(), b.Criteria.Specificity()), strings.Compare(a.Name, b.Name))
	})
	return matches
}

// chains gives the names of the overlays with their bases, in the order in which they apply. Since
// July the root of all applies even if nothing else does.
func (s *Store) chains(overlays []*Overlay) []string {
	var names []string
	if _, ok := s.overlays[baseOverlay]; ok && s.generation != document.March {
		names = []string{baseOverlay}
	}
	for _, o := range overlays {
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
		if isSet(*f) && !used {
			unused = append(unused, CriteriaNames()[i]+" "+*f)
		}
	}
	return unused
}

// CriteriaValues gives, for each criterion by its name in a recipe, the values that the overlays
// are for, sorted. A query for another value matches the overlays that are for any, and those only;
// CheckCriteria is for queries of people.
func (s *Store) CriteriaValues() map[string][]string {
	names := CriteriaNames()
	values := map[string][]string{}
	for _, o := range s.overlays {
		c := o.Criteria
		for i, f := range c.Fields() {
			if isSet(*f) && !slices.Contains(values[names[i]], *f) {
				values[names[i]] = append(values[names[i]], *f)
			}
		}
	}
	for _, list := range values {
		slices.Sort(list)
	}
	return values
}

// covered rejects a query with a criterion that none of the applied overlays sets. Which queries AICR
// rejects depends on its release, and so on the documents' version: in March none, until v0.20 those of
// needsOS.
func (s *Store) covered(query Criteria, applied []string, measured bool) error {
	switch {
	case s.generation == document.March:
		return nil
	case document.Measured(s.newest) && !measured: // a measured system may have left out what was asked for
		return s.needsOS(query.Bare())
	}
	var of, all []Criteria
	for _, name := range s.Names() {
		all = append(all, s.overlays[name].Criteria)
	}
	for _, name := range applied {
		of = append(of, s.overlays[name].Criteria)
	}
	return criteriaCovered(query.Bare(), of, all)
}

// needsOS rejects a query for a service and an accelerator, all of whose recipes are for one operating system, and that
// names none.
func (s *Store) needsOS(query Criteria) error {
	if query.OS != "" || query.Service == "" || query.Accelerator == "" {
		return nil
	}
	var of []Criteria
	for _, name := range s.Names() {
		c := s.overlays[name].Criteria.Bare()
		fits := c.Service == query.Service && c.Accelerator == query.Accelerator
		for i, f := range c.Fields() {
			asked := *query.Fields()[i]
			fits = fits && (*f == "" || asked == "" || *f == asked)
		}
		if fits && c.OS == "" {
			return nil
		}
		if fits {
			of = append(of, c)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return &UncoveredError{Criteria: []string{"os"}, Reasons: []string{completion(query, 1, of)}}
}
