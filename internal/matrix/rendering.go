package matrix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/change"
	"github.com/nvidia/aicr-action/internal/matrix/intact"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Bundler makes the bundles of cells. Without one, this program makes them itself.
type Bundler interface {
	// Bundle makes the bundle of one cell before its cluster exists. The input is what this program
	// would use, with the cell's registry; dir is a directory for the bundler alone. It returns the
	// input that describes the bundle, the bundle, and notes on what is not verified.
	Bundle(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (bundle.Input, *bundle.Bundle, []string, error)
}

// bundlerOf is what makes the cell's bundle.
func (p *Plan) bundlerOf() Bundler { return bundlerOr(p.bundler, p.rendering) }

// bundlerOr is the bundler that was given, or else this program's own with its renderings.
func bundlerOr(given Bundler, own *rendering) Bundler {
	if given == nil {
		return ownBundler{own}
	}
	return given
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
	return in, b, nil, bundle.MarkMissingPaths(ctx, d, prepared, b)
}

// rendering is what the lanes of one recipe share: its charts, rendered and traced once. Lanes may
// use it side by side; the others wait for the first.
type rendering struct {
	mu   sync.Mutex
	done bool
	in   bundle.Input
	err  error
	// heard is what the API server warned of when a lane created what is rendered.
	heard *intact.Heard
}

// heard is that of the lanes of the plan's recipe.
func (p *Plan) heard() *intact.Heard {
	if p.rendering == nil {
		return nil
	}
	p.rendering.mu.Lock()
	defer p.rendering.mu.Unlock()
	if p.rendering.heard == nil {
		p.rendering.heard = &intact.Heard{}
	}
	return p.rendering.heard
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
	r.done, r.in, r.err, r.heard = false, bundle.Input{}, nil, nil
}

// mustSkip is the verdict of a plan that is not run in any case; nil if it is.
func (p *Plan) mustSkip() *result.Verdict {
	if p.skip == "" {
		return nil
	}
	return &result.Verdict{Status: result.Skipped, Cause: p.skip}
}

// unrun is the result of a cell that is not run. Of an upgrade it has the difference of the two
// renderings, unless the run is at its end, or another program would have to make the bundles.
func (r *Runner) unrun(ctx context.Context, p Plan, res result.Result) result.Result {
	if p.base == nil || ctx.Err() != nil || res.Reason == reason.JobDeadline || p.bundler != nil && p.skip == "" {
		return res
	}
	dir, err := os.MkdirTemp(r.Dir, "unrun-")
	if err != nil {
		return res // the difference is no verdict
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the run's own directory, which goes away
	made := func(b Bundler, in bundle.Input, name string) (*bundle.Bundle, error) {
		_, made, _, err := b.Bundle(ctx, p.Deployer, in.InRegistry("registry.invalid", "git.invalid", p.Deployer.Name()), filepath.Join(dir, name))
		return made, err
	}
	old, err := made(p.base.bundlerOf(), p.base.input, "before")
	if err != nil {
		return res
	}
	next, err := made(p.bundlerOf(), p.input, "after")
	if err != nil {
		return res
	}
	if c, err := change.Rendered(old.Expectation, next.Expectation, change.Options{From: p.base.title}); err == nil {
		res.Change, res.RenderedBefore, res.Rendered = c, change.ChartsOf(old), change.ChartsOf(next)
	}
	return res
}

// foresee gives an upgrade that did not come to its end the difference of the two renderings. It
// decides nothing, so that one that cannot be told is only logged.
func (c *cellRun) foresee() {
	if c.result.Change != nil || c.upgrade == nil || c.upgrade.old.bundle == nil || c.upgrade.next.bundle == nil {
		return
	}
	var err error
	if c.result.Change, err = change.Rendered(c.upgrade.old.bundle.Expectation, c.upgrade.next.bundle.Expectation, change.Options{From: c.plan.base.title}); err != nil {
		c.env.Log.Warn("compare the renderings before and after the upgrade", "err", err)
	}
}
