package matrix

import (
	"context"
	"fmt"
	"sync"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/forgotten"
)

// Bundler makes the bundles of cells. Without one, this program makes them itself.
type Bundler interface {
	// Bundle makes the bundle of one cell before its cluster exists. The input is what this program
	// would use, with the cell's registry; dir is a directory for the bundler alone. It returns the
	// input that describes the bundle, the bundle, and notes on what is not verified.
	Bundle(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (bundle.Input, *bundle.Bundle, []string, error)
}

// ownBundler makes bundles with this program's own deployers, from the rendering that the lanes of
// a recipe share.
type ownBundler struct{ rendering *rendering }

func (o ownBundler) Bundle(ctx context.Context, d bundle.Deployer, in bundle.Input, _ string) (bundle.Input, *bundle.Bundle, []string, error) {
	prepared, err := o.rendering.prepare(ctx, in)
	if err != nil {
		return in, nil, nil, fmt.Errorf("%s bundle: %w", d.Name(), err)
	}
	prepared.ChartRepository, prepared.RepoURL, prepared.TargetRevision = in.ChartRepository, in.RepoURL, in.TargetRevision
	b, err := d.Bundle(ctx, prepared)
	if err != nil {
		return in, nil, nil, err
	}
	return in, b, nil, forgotten.Mark(ctx, d, prepared, b)
}

// rendering is what the lanes of one recipe share: its charts, rendered and traced once. Lanes may
// use it side by side; the others wait for the first.
type rendering struct {
	mu   sync.Mutex
	done bool
	in   bundle.Input
	err  error
}

// prepare returns the input with the first lane's rendering, or the error of that. If a lane is
// cancelled while it renders, the next one renders.
func (r *rendering) prepare(ctx context.Context, in bundle.Input) (bundle.Input, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		prepared, err := bundle.Prepare(ctx, in)
		if ctx.Err() != nil {
			return in, context.Cause(ctx)
		}
		r.in, r.err, r.done = prepared, err, true
	}
	return r.in, r.err
}

// dropRendering frees what the lanes of the plan's recipe share.
func (p *Plan) dropRendering() {
	if p.rendering != nil {
		p.rendering.drop()
	}
	if p.base != nil && p.base.rendering != nil {
		p.base.rendering.drop()
	}
}

// drop frees the rendering. A later lane renders again.
func (r *rendering) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done, r.in, r.err = false, bundle.Input{}, nil
}
