package recipe

import (
	"maps"
	"slices"
)

// Entry is a component of the registry, with the defaults that a recipe takes from it.
type Entry struct {
	ComponentRef // Name, and the defaults
	DisplayName  string
	// Origin is where the entry is: in the recipes directory, or in the data directory over it.
	Origin Origin
	// ManifestOnly: it has no chart, and recipes name its manifests.
	ManifestOnly bool
	// ValueOverrideKeys are what --set of the bundler calls the component, besides its name.
	ValueOverrideKeys []string
}

// Entries gives the components of the registry, sorted by name.
func (s *Store) Entries() []Entry {
	var all []Entry
	for _, name := range slices.Sorted(maps.Keys(s.registry)) {
		r := s.registry[name]
		e := Entry{ComponentRef: ComponentRef{Name: name}, DisplayName: r.DisplayName, Origin: r.origin, ValueOverrideKeys: slices.Clone(r.ValueOverrideKeys)}
		setIfEmpty(&e.DisplayName, name)
		r.defaults(&e.ComponentRef)
		e.ManifestOnly = e.Type == TypeHelm && e.Chart == ""
		all = append(all, e)
	}
	return all
}
