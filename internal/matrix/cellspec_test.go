package matrix

import (
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// specPlatform records the spec that a cell passes.
type specPlatform struct {
	infra.Platform
	spec infra.Spec
}

func (p *specPlatform) Cluster(spec infra.Spec) (infra.Cluster, error) {
	p.spec = spec
	return p.Platform.Cluster(spec)
}

// A platform gets the names of the controllers that a cell will install, so that it can prepare
// them while the cluster starts.
func TestCell_ControllersInSpec(t *testing.T) {
	for deployer, want := range map[string][]infra.ControllerKind{
		bundle.Helm: nil, bundle.FluxOCI: {infra.FluxControllers}, bundle.ArgoCDOCI: {infra.ArgoCDControllers},
	} {
		r := unitRunner(t)
		r.Dir = t.TempDir()
		p := &specPlatform{Platform: r.Platform}
		r.Platform = p
		madeBundle(t, r, deployer)
		if !slices.Equal(p.spec.Controllers, want) {
			t.Errorf("%s: got %q, want %q", deployer, p.spec.Controllers, want)
		}
	}
}
