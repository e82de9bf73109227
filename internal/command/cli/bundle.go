package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/adjust"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// OneDeployer is the deployer of the value of --deployer, which is no list here.
func OneDeployer(name string) (bundle.Deployer, error) {
	deployers, err := bundle.ByName([]string{name})
	if err != nil || len(deployers) != 1 {
		return nil, Usagef("--deployer %q: want one of %s", name, strings.Join(bundle.Names(), ", "))
	}
	return deployers[0], nil
}

// MakeBundle makes a deployer's bundle. Without a revision the tag is made from the bundle's
// content. Reasons: USAGE, BUNDLE_FAILED.
func MakeBundle(ctx context.Context, d bundle.Deployer, in bundle.Input, repoFlag, revision string) (*bundle.Bundle, bundle.Input, error) {
	in.TargetRevision = FirstOf(revision, bundle.Tag(d.Name(), bundle.Revision(in)))
	b, err := d.Bundle(ctx, in)
	switch {
	case errors.Is(err, bundle.ErrNoRepoURL):
		return nil, in, Usagef("%s: %w", repoFlag, err)
	case err != nil && ctx.Err() != nil:
		return nil, in, context.Cause(ctx)
	}
	return b, in, reason.Wrap(reason.BundleFailed, err)
}

// TellBundle says on stderr which scheduling was put into a bundle, and what is to be noticed in
// it. Where is the place that it was written to.
func (a *App) TellBundle(b *bundle.Bundle, in bundle.Input, where, output string) error {
	for _, line := range adjust.DescribeScheduling(in.Scheduling) {
		_, _ = fmt.Fprintln(a.Stderr, line)
	}
	for _, w := range append(adjust.WithoutEffect(in.Components, in.Scheduling), b.Expectation.Warnings...) {
		_, _ = fmt.Fprintln(a.Stderr, "warning:", w)
	}
	if output == AsJSON {
		files := make([]string, 0, len(b.Files))
		for _, f := range b.Files {
			files = append(files, f.Path)
		}
		return PrintJSON(a.Stdout, map[string]any{"directory": where, "deployer": b.Deployer, "releases": len(b.Expectation.Releases), "files": files})
	}
	const page = "README.md"
	first := page
	if !slices.ContainsFunc(b.Files, func(f bundle.File) bool { return f.Path == page }) { // each half has its own
		first = bundle.Classes()[0] + "/" + page
	}
	_, err := fmt.Fprintf(a.Stdout, "%d files for %d releases in %s; start with %s there\n", len(b.Files), len(b.Expectation.Releases), where, first)
	return err
}

// PullCharts downloads what a source lacks, after its lock was held against the recipes.
func (a *App) PullCharts(ctx context.Context, source catalog.Source, recipes [][]charts.Pin) error {
	return a.ChartTask(ctx, "Downloading charts", func(ctx context.Context, tell func(done, of int)) error {
		return charts.Ready(ctx, source, recipes, tell)
	})
}

// ChartTask shows how far downloads are; one without any downloads shows nothing.
func (a *App) ChartTask(ctx context.Context, title string, do func(context.Context, func(done, of int)) error) error {
	var task infra.Task
	err := do(ctx, func(done, of int) {
		if task == nil {
			task = a.Progress.Begin(title)
		}
		task.Update(fmt.Sprintf("%d of %d", done, of))
	})
	if task != nil {
		task.End("", err)
	}
	return err
}
