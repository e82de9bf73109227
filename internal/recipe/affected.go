package recipe

import (
	"cmp"
	"slices"
)

// AffectedKind is a kind of objects that an upgrade changes or removes.
type AffectedKind struct {
	Group, Kind string // of the core group, Group is empty
	// Components are those whose records name it, sorted.
	Components []string
}

// AffectedKinds are the kinds that the crossed records name, once each, sorted by group and kind.
func AffectedKinds(rows []UpgradeRow) []AffectedKind {
	var all []AffectedKind
	for i := range rows {
		for _, t := range rows[i].Crossed {
			for _, a := range t.Affected {
				for _, kind := range a.Kinds {
					at := slices.IndexFunc(all, func(k AffectedKind) bool { return k.Group == a.Group && k.Kind == kind })
					if at < 0 {
						at = len(all)
						all = append(all, AffectedKind{Group: a.Group, Kind: kind})
					}
					if !slices.Contains(all[at].Components, rows[i].Component) {
						all[at].Components = append(all[at].Components, rows[i].Component)
					}
				}
			}
		}
	}
	for i := range all {
		slices.Sort(all[i].Components)
	}
	slices.SortFunc(all, func(a, b AffectedKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}
