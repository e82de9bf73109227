package intake

import (
	"context"
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// Laid is a bundle that this program laid out for a lane, from files that are in no bundle's form
// (package app).
type Laid struct {
	Dir                    string                  // holds the bundle; it is read once
	Called                 string                  // the name of what it was made from, for people
	Places                 map[string]UserAppPlace // by path in Dir
	Overrides, NotVerified []string                // what was changed or added; what was left out
	UserAppExtra
}

// OpenLaid is Open for a laid-out bundle: messages name the files that it was made from, no workload
// is expected to tolerate a taint of simulated nodes, and AICR's additions are not looked for.
func OpenLaid(ctx context.Context, l Laid, d bundle.Deployer) (*Bundle, error) {
	t, err := readTree(l.Dir, l.Called)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.Called, err)
	}
	t.places = l.Places
	b := &Bundle{tree: t, deployer: d, laid: &l, overrides: l.Overrides}
	if err := b.readForm(ctx); err != nil {
		return nil, err
	}
	b.unknown = append(b.unknown, l.NotVerified...)
	return b, nil
}

// Dependents are the releases that do not come without those of these names, the direct ones first: they depend on them, or
// Argo CD creates them only once these are healthy.
func (b *Bundle) Dependents(names []string) []string {
	lacking := map[string]bool{}
	for _, name := range names {
		lacking[name] = true
	}
	components, _ := b.Components()
	var found []string
	for more := true; more; {
		more = false
		for i := range components {
			before := components[i].DependencyRefs
			if b.laid != nil {
				before = slices.Concat(before, b.laid.After[components[i].Name])
			}
			if name := components[i].Name; !lacking[name] && slices.ContainsFunc(before, func(other string) bool { return lacking[other] }) {
				lacking[name], more, found = true, true, append(found, name)
			}
		}
	}
	return found
}

// Deployer is that whose lane takes the bundle.
func (b *Bundle) Deployer() bundle.Deployer { return b.deployer }
