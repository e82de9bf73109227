package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/foreign"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/discover"
	"github.com/nvidia/aicr-action/internal/matrix/from"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// fromFlags say what runs in the cluster before.
type fromFlags struct {
	from     string
	rollback bool
}

func (f *fromFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.from, "from", "", "besides each first installation, run an upgrade from this `source`: a Git ref, base (of the pull request), or a directory of recipes")
	cmd.Flags().BoolVar(&f.rollback, "rollback", false, "with --from: after the upgrade, deliver what ran before again (helm rollback; elsewhere as after a revert): it must be back as it was")
}

// rerun are the flags that run an upgrade again.
func (f fromFlags) rerun() []string {
	parts := []string{"--from", f.from}
	if f.rollback {
		parts = append(parts, "--rollback")
	}
	return parts
}

// check refuses flags that do not go together.
func (f fromFlags) check(run *runFlags) error {
	switch {
	case f.from == "" && f.rollback:
		return cli.Usagef("--rollback undoes an upgrade; say with --from what runs before it")
	case f.from == "":
		return nil
	case run.bundles.one() != "":
		return cli.Usagef("--from is about recipes, and %s runs without any; leave one of them out", run.bundles.one())
	case slices.Contains(run.charts, charts.DirectName):
		return cli.Usagef("--from does not work with --charts %s: what the controllers may reach is decided by one recipe. Use --charts %s, which has the same charts", charts.DirectName, charts.UpstreamName)
	}
	for _, name := range cli.SplitList(run.deployers) {
		switch name {
		case bundle.ArgoCDAppSet:
			return cli.Usagef("--from does not work with %s: its AppProject and clusters are part of Argo CD's settings, which nothing may write once it runs; choose other deployers", name)
		case bundle.Helmfile:
			return cli.Usagef("--from does not work with %s: its apply needs the plugin helm-diff for releases that exist, which does not run here; choose other deployers", name)
		}
	}
	return nil
}

// openFrom opens what runs before. What it takes from Git is removed by the function that it
// returns.
func (a *app) openFrom(ctx context.Context, args []string, f runFlags, v validFlags) (_ *matrix.From, remove func(), err error) {
	remove = func() {}
	if f.before.from == "" {
		return nil, remove, nil
	}
	into, err := os.MkdirTemp("", "matrix-from-")
	if err != nil {
		return nil, remove, reason.Wrap(reason.Internal, err)
	}
	remove = func() { _ = os.RemoveAll(into) } // a leftover in the directory for temporary files
	source, err := from.Request{Text: f.before.from, RecipesDir: a.RecipesDirectory(f.recipes.Recipes), Into: into, Base: f.base, Getenv: a.Getenv}.Open(ctx)
	if err == nil && source.Recipes == "" {
		err = cli.Usagef("--from %s is not a recipes directory (registry.yaml and overlays), from which alone an upgrade can be run; give the recipes that it was made of", f.before.from)
	}
	if err != nil {
		return nil, remove, reason.Wrap(reason.Usage, err)
	}
	old := f
	old.recipes.Recipes, old.charts = source.Recipes, a.ChartsFor(f.givenCharts, source.Recipes)
	if source.Charts != "" && slices.Equal(old.charts, []string{cli.Simulated}) {
		old.charts = []string{source.Charts, cli.Simulated}
	}
	if f.bundles.checkout != "" {
		root, ok := foreign.Checkout(source.Recipes)
		if !ok {
			return nil, remove, cli.Usagef("--from %s: the old recipes are in no checkout of AICR with its CLI, from which --aicr build could build it; pass --aicr PATH, or a checkout", f.before.from)
		}
		old.bundles.checkout = root
	}
	made := &matrix.From{Name: source.Name, Title: source.Title()}
	open := a.Recipes
	if f.bundles.bundler == execBundler {
		open = a.RecipesOrHeaders
	}
	if made.Store, made.RecipesName, err = open(old.recipes); err != nil {
		return nil, remove, err
	}
	if made.Bundler, _, err = a.openBundler(ctx, args, old, v.deployers[0]); err != nil {
		return nil, remove, err
	}
	if made.Charts, err = a.Charts(old.charts, source.Recipes); err != nil {
		return nil, remove, err
	}
	return made, remove, nil
}

// leaveUnchanged leaves out the upgrades from base of the recipes whose resolved bundle did not
// change since, as matrix discover does. The function that it returns names them on stderr.
func (a *app) leaveUnchanged(ctx context.Context, f runFlags, runner *matrix.Runner) (tell func() error, err error) {
	if f.before.from != from.Base {
		return func() error { return nil }, nil
	}
	diff, err := a.changesSince(ctx, "--from base", f.base, f.recipes, f.charts)
	if err != nil {
		return nil, err
	}
	upgrades := &discover.Upgrades{From: from.Base, Diff: diff}
	without := map[string]string{}
	runner.From.Left = func(name string) (string, error) {
		_, why, err := upgrades.Reasons(runner.Store, name)
		if why != "" {
			without[name] = why
		}
		return why, err
	}
	return func() error {
		for _, line := range upgrades.Left(without) {
			if _, err := fmt.Fprintln(a.Stderr, cli.Inert("note: "+line)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
