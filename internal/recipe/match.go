package recipe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
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

// applied gives the names of the overlays that the query brings, in the order in which they apply
// (resolution rules 1 to 3). Of those that match, only the ones that fit count.
func (s *Store) applied(query Criteria, fits func(*Overlay) bool) []string {
	var matches []*Overlay
	for _, name := range s.Names() {
		if o := s.overlays[name]; o.Criteria.matches(query) && fits(o) {
			matches = append(matches, o)
		}
	}
	if s.generation != March {
		matches = s.maximalLeaves(matches)
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

// criteriaNames are the criteria that are words, in the order of fields.
func criteriaNames() [5]string {
	return [...]string{"service", "accelerator", "intent", "os", "platform"}
}

// KnownCriteria gives, for each criterion by its name in a recipe, the values that AICR knows,
// sorted. A recipes directory can have more, and need not have an overlay for each.
func KnownCriteria() map[string][]string {
	return map[string][]string{
		"service":     {"aks", "bcm", "eks", "gke", "k0s", "kind", "lke", "oke", "rke2"},
		"accelerator": {"a100", "b200", "gb200", "gb300", "h100", "h200", "l40", "rtx-pro-6000", "vr200"},
		"intent":      {"inference", "training"},
		"os":          {"amazonlinux", "cos", "rhel", "talos", "ubuntu"},
		"platform":    {"dynamo", "kubeflow", "nim", "slurm"},
	}
}

// CheckCriteria refuses a value that neither AICR knows nor an overlay is for (*UnknownValueError):
// the query would match the overlays that are for any value, and a typing error would look like an
// answer.
func (s *Store) CheckCriteria(c Criteria) error {
	known, own := KnownCriteria(), s.CriteriaValues()
	for i, f := range c.fields() {
		name := criteriaNames()[i]
		supported := lists.Unique(append(known[name], own[name]...))
		if set(*f) && !slices.Contains(supported, *f) {
			slices.Sort(supported)
			return &UnknownValueError{Criterion: name, Value: *f, Supported: supported}
		}
	}
	return nil
}

// Unused gives the criteria of the query that no overlay of the result is for, as "service lke":
// the recipe has nothing of its own for them. The number of nodes is not among them.
func (s *Store) Unused(r *Result) []string {
	var unused []string
	asked := r.Criteria
	for i, f := range asked.fields() {
		used := slices.ContainsFunc(r.Metadata.AppliedOverlays, func(name string) bool {
			o, ok := s.overlays[name]
			return ok && *o.Criteria.fields()[i] == *f
		})
		if set(*f) && !used {
			unused = append(unused, criteriaNames()[i]+" "+*f)
		}
	}
	return unused
}

// CriteriaValues gives, for each criterion by its name in a recipe, the values that the overlays
// are for, sorted. A query for another value matches the overlays that are for any, and those only;
// CheckCriteria is for queries of people.
func (s *Store) CriteriaValues() map[string][]string {
	names := criteriaNames()
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
