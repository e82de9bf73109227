package matrix

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Checked is what can be said of a cell without a cluster.
type Checked struct {
	Cell result.Cell
	// Err is the error with which the cell would end; nil if nothing that was rendered decides so. It is not a pass.
	Err error
	// Warnings are those of the rendering and of checks.
	Warnings []string
	Judged   []result.Finding
	// Objects is how many were rendered.
	Objects int
}

// Check renders a cell's bundle and judges what needs no cluster, as the first step of the cell does.
func (r *Runner) Check(ctx context.Context, p Plan) (c Checked) {
	c.Cell = p.Cell
	dir, err := os.MkdirTemp("", "aicr-check-")
	if err != nil {
		c.Err = reason.Wrap(reason.Internal, err)
		return c
	}
	defer func() { _ = os.RemoveAll(dir) }()
	in, b, _, err := p.bundlerOf().Bundle(ctx, p.Deployer, p.input.InRegistry("registry.invalid", "git.invalid", p.Deployer.Name()), filepath.Join(dir, "bundler"))
	if err != nil {
		c.Err = reason.Wrap(reason.BundleFailed, err)
		return c
	}
	c.Objects = len(b.Expectation.Objects)
	order := NewLane(p.Deployer).Order(&lane.Env{Cell: p.Cell, Input: in, Bundle: b})
	said, err := judgeRendered(r.bench(), b, in.Components, p, order, false)
	c.Warnings = slices.Concat(b.Expectation.Warnings, said.Warnings)
	c.Judged = said.Findings
	if c.Err = err; err == nil {
		c.Err = said.Err()
	}
	return c
}
