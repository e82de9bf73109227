package recipe

import (
	"cmp"
	"slices"
	"strings"
)

// set reports whether a criterion asks for something in particular.
func set(value string) bool { return value != "" && value != Any }

// fields lists the criteria that are words.
func (c *Criteria) fields() [5]*string {
	return [...]*string{&c.Service, &c.Accelerator, &c.Intent, &c.OS, &c.Platform}
}

// bare is the criteria with unset fields empty.
func (c Criteria) bare() Criteria {
	for _, f := range c.fields() {
		if !set(*f) {
			*f = ""
		}
	}
	return c
}

// spelled is the criteria with unset fields "any", the form of results (resolution rule 8).
func (c Criteria) spelled() Criteria {
	for _, f := range c.fields() {
		if !set(*f) {
			*f = Any
		}
	}
	return c
}

// or takes what c leaves unset from other.
func (c Criteria) or(other Criteria) Criteria {
	from := other.fields()
	for i, f := range c.fields() {
		if !set(*f) {
			*f = *from[i]
		}
	}
	if c.Nodes == 0 {
		c.Nodes = other.Nodes
	}
	return c
}

// matches reports whether an overlay with criteria c applies to the query (resolution rule 1).
func (c Criteria) matches(query Criteria) bool {
	asked := query.fields()
	for i, f := range c.fields() {
		if set(*f) && *f != *asked[i] {
			return false
		}
	}
	return c.Nodes == 0 || c.Nodes == query.Nodes
}

// specificity is the number of criteria that are set (resolution rule 2).
func (c Criteria) specificity() int {
	n := 0
	for _, f := range c.fields() {
		if set(*f) {
			n++
		}
	}
	if c.Nodes != 0 {
		n++
	}
	return n
}

// applied gives the names of the overlays that the query brings, in the order in which they apply (resolution rules 1 to 3).
func (s *Store) applied(query Criteria) []string {
	var matches []*Overlay
	for _, o := range s.overlays {
		if o.Criteria.matches(query) {
			matches = append(matches, o)
		}
	}
	slices.SortFunc(matches, func(a, b *Overlay) int {
		return cmp.Or(cmp.Compare(a.Criteria.specificity(), b.Criteria.specificity()), strings.Compare(a.Name, b.Name))
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

// CriteriaValues gives, for each criterion by its name in a recipe, the values that the overlays are for, sorted. A query for
// another value matches the overlays that are for any, and those only; whoever takes queries from people should ask back.
func (s *Store) CriteriaValues() map[string][]string {
	names := [...]string{"service", "accelerator", "intent", "os", "platform"}
	values := map[string][]string{}
	for _, o := range s.overlays {
		c := o.Criteria
		for i, f := range c.fields() {
			if set(*f) && !slices.Contains(values[names[i]], *f) {
				values[names[i]] = append(values[names[i]], *f)
			}
		}
	}
	for _, list := range values {
		slices.Sort(list)
	}
	return values
}
