//go:build nightly

package matrix

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// TestNightlyShippedRecipes_Static: what is judged without a cluster finds nothing in our own
// recipes, in any family of lanes. A check that does has a fault of its own.
func TestNightlyShippedRecipes_Static(t *testing.T) {
	t.Parallel()
	r := unitRunner(t)
	for _, name := range r.Store.Names() {
		if o, ok := r.Store.Overlay(name); !ok || o.Effective.Service == "" {
			continue
		}
		for _, p := range plansOf(t, r, name, deployers(t, bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI)...) {
			in, err := bundle.Prepare(t.Context(), p.input.InRegistry("127.0.0.1:5000", "127.0.0.1:5000", p.Deployer.Name()))
			if err != nil {
				t.Fatalf("%s: %v", p.Cell, err)
			}
			b, err := p.Deployer.Bundle(t.Context(), in)
			if err != nil {
				t.Fatalf("%s: %v", p.Cell, err)
			}
			order := NewLane(p.Deployer).Order(&lane.Env{Cell: p.Cell, Input: in, Bundle: b})
			found, err := judgeRendered(r.bench(), b, in.Components, p, order, false, nil)
			if err != nil {
				t.Fatalf("%s: %v", p.Cell, err)
			}
			if err := found.Err(); err != nil {
				t.Errorf("%s: %v", p.Cell, err)
			}
		}
	}
}
