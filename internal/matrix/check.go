package matrix

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/intact"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Checked is what can be said of a cell without delivering anything.
type Checked struct {
	Cell result.Cell
	// Err is the error with which the cell would end; nil if nothing that was looked at decides so. It is not a pass.
	Err error
	// Warnings are those of the rendering, of checks and of the API server.
	Warnings []string
	Judged   []result.Finding
	// Objects is how many were rendered.
	Objects int
}

// say adds what checks found.
func (c *Checked) say(r judge.Report, err error) {
	c.Warnings, c.Judged = append(c.Warnings, r.Warnings...), append(c.Judged, r.Findings...)
	if c.Err == nil {
		c.Err = err
	}
	if c.Err == nil {
		c.Err = r.Err()
	}
}

// Check renders a cell's bundle and judges what needs no cluster, as the first step of the cell does. If it is served, an
// API server is asked about each object, too. The lanes of a recipe share their rendering, so that all plans of a call to
// Runner.Plan are checked in the same way.
func (r *Runner) Check(ctx context.Context, p Plan, served bool) (c Checked) {
	if c.Cell, c.Err = p.Cell, p.unfit; c.Err != nil {
		return c
	}
	dir, err := os.MkdirTemp(r.Dir, "aicr-check-")
	if err != nil {
		c.Err = reason.Wrap(reason.Internal, err)
		return c
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p.input.WholeDefinitions = served
	in, b, _, err := p.bundlerOf().Bundle(ctx, p.Deployer, p.input.InRegistry("registry.invalid", "git.invalid", p.Deployer.Name()), filepath.Join(dir, "bundler"))
	if err != nil {
		c.Err = reason.Wrap(reason.BundleFailed, err)
		return c
	}
	c.Objects, c.Warnings = len(b.Expectation.Objects), slices.Clone(b.Expectation.Warnings)
	order := NewLane(p.Deployer).Order(&lane.Env{Cell: p.Cell, Input: in, Bundle: b})
	c.say(judgeRendered(r.bench(), b, in.Components, p, order, len(r.Existing) > 0, nil))
	if served && ctx.Err() == nil {
		c.say(r.checkServed(ctx, p, in.Components, b, order, dir, &c))
	}
	if f, ok := errors.AsType[*result.Failure](c.Err); ok && reason.OfRecipe(c.Err) {
		why.Locate(p.Components(), b, f.Findings)
	}
	return c
}

// checkServed runs the checks that need the answers of an API server, on a cluster without anything else.
func (r *Runner) checkServed(ctx context.Context, p Plan, components []recipe.Component, b *bundle.Bundle, order lane.Order, dir string, c *Checked) (report judge.Report, err error) {
	cluster, err := r.PlatformOf(p.Cell.Recipe).Cluster(infra.Spec{
		Name: fmt.Sprintf("%s-%s-%d", r.ClusterPrefix, r.RunID, p.number), Purpose: "check " + p.Cell.String(), Dir: dir, Log: slog.New(slog.DiscardHandler), Nodes: simulate.Nodes(p.nodes),
	})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, cluster.Down(context.WithoutCancel(ctx))) }()
	if err := cluster.Up(ctx); err != nil {
		return report, err
	}
	own, err := facts.ReadServed(ctx, cluster.Clients().Kube) // before anything is created
	if err != nil {
		return report, reason.Wrap(reason.ClusterFailed, err)
	}
	x := facts.New(&b.Expectation, components, nil, own)
	if x.Answers, err = intact.Served(ctx, cluster.Clients(), &b.Expectation); err != nil {
		return report, reason.Wrap(reason.ClusterFailed, err)
	}
	c.say(r.bench().Warn(p.Cell.Recipe, intact.ServerWarnings(b, components, cluster.Clients().Warnings.Grouped())), nil)
	var unasked []string
	for i, a := range x.Answers {
		if !a.Asked {
			unasked = append(unasked, b.Expectation.Objects[i].Ref().String())
		}
	}
	if len(unasked) > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the API server could not be asked about %s, of kinds that nothing defines here, or for what only a cell has: %s", lists.Count(len(unasked), "object"), strings.Join(lists.AtMost(unasked, 5), ", ")))
	}
	return r.bench().Report(x, p.Cell.Recipe, order, judge.Served)
}
