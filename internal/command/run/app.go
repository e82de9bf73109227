package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/command/bundles"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/intake"
	appdir "github.com/nvidia/aicr-action/internal/intake/app"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// appService is the service whose nodes an app gets by default: those of no provider.
func appService() string { return "kind" }

// settleApp finds what --app names, and the lane for it where the user names none.
func (a *app) settleApp(ctx context.Context, f *runFlags) error {
	b := &f.bundles
	if b.app == "" || b.dir != "" {
		return nil
	}
	ctx, end := a.buildingShown(ctx)
	var err error
	defer func() { end(err) }()
	if b.found, err = appdir.FindApp(ctx, b.app, b.values); err == nil && b.namespace != "" && !b.found.IsChart() {
		err = fmt.Errorf("--namespace is for a chart, and %s has no Chart.yaml", b.app)
	}
	if err == nil && b.environment != "" && !b.found.IsHelmfile() {
		err = fmt.Errorf("--environment is for a helmfile, and %s is none", b.app)
	}
	if err != nil {
		return reason.Wrap(reason.Usage, err)
	}
	if slices.Equal(f.deployers, []string{"all"}) {
		f.deployers = []string{b.found.Deployer}
	}
	return nil
}

// buildingShown gives a context with which an app's kustomizations are shown while they are built; end says that all are. An
// app without any shows nothing.
func (a *app) buildingShown(ctx context.Context) (shown context.Context, end func(error)) {
	var task infra.Task
	n := 0
	tell := func(dir string) {
		if task == nil {
			task = a.Progress.Begin("Building kustomizations")
		}
		n++
		task.Update(fmt.Sprintf("%d: %s", n, dir))
	}
	end = func(err error) {
		if task != nil {
			task.End(strconv.Itoa(n), err)
		}
	}
	return appdir.Telling(ctx, tell), end
}

// settleCharts replaces auto in values of --charts by what it stands for. The charts of an app come from
// their repositories where no lock file pins them, as its users get them.
func (a *app) settleCharts(values []string, f *runFlags) []string {
	settled := a.ChartsFor(values, f.chartsDirectory())
	if f.bundles.app != "" && slices.Equal(cli.ChartValues(values), []string{cli.AutoCharts}) && slices.Equal(settled, []string{cli.Simulated}) {
		return []string{charts.UnlockedName}
	}
	return settled
}

// chartsDirectory is the directory in which a lock of charts is looked for: that of the recipes, or
// of the app.
func (f *runFlags) chartsDirectory() string {
	if f.bundles.app == "" || f.recipes.Recipes != "" {
		return f.recipes.Recipes
	}
	return bundles.AppDirectory(f.bundles.app)
}

// openApp lays out what --app names, and plans its one cell.
func (a *app) openApp(ctx context.Context, args []string, f bundlerFlags, d bundle.Deployer) (matrix.Bundler, func(*matrix.Runner) ([]matrix.Plan, error), error) {
	name, err := oneName(args, f.found.Name())
	if err != nil {
		return nil, nil, err
	}
	f.found.Namespace, f.found.Environment, f.found.Cluster, f.found.Select = f.namespace, f.environment, f.existing.cluster, f.selects
	shown, end := a.buildingShown(ctx)
	read, err := f.found.Open(shown, d)
	end(err)
	if err != nil {
		return nil, nil, reason.Wrap(reason.Usage, err)
	}
	left, err := a.unchanged(ctx, &f, d, &read)
	if err != nil {
		return nil, nil, err
	}
	plan := planOne(read, name, d, cli.FirstOf(f.service, appService()), f.accelerator)
	return intake.NewDir(read), func(r *matrix.Runner) ([]matrix.Plan, error) {
		if left != nil {
			return nil, left
		}
		from, before := r.From, f.lackedBefore(ctx, r, result.Cell{Recipe: name, Deployer: d.Name()}, d)
		if before != nil {
			r.From = nil
		}
		plans, err := plan(r)
		if r.From = from; err != nil {
			return nil, err
		}
		err = a.PullCharts(ctx, r.Charts, [][]charts.Pin{charts.Pins(plans[0].Components())})
		if err == nil {
			err = haveCharts(ctx, r.Charts, plans[0].Components())
		}
		if err == nil && before == nil {
			return plans, nil
		}
		if err != nil {
			err = offline(dependents(err, read))
		}
		return f.rest(ctx, r, read, err, before, func(rest *intake.Bundle) ([]matrix.Plan, error) {
			return planOne(rest, name, d, cli.FirstOf(f.service, appService()), f.accelerator)(r)
		})
	}, nil
}

// lackedBefore is the error of the charts of what runs before an upgrade; nil if all can be had, and without an upgrade.
func (f bundlerFlags) lackedBefore(ctx context.Context, r *matrix.Runner, cell result.Cell, d bundle.Deployer) error {
	if r.From == nil || r.From.LeaveOut == nil {
		return nil
	}
	_, err := r.From.Bundle(ctx, cell, d)
	if charts.NotDownloaded(err) == nil {
		return nil // else it is that of the plan of the upgrade
	}
	return fmt.Errorf("what runs before (--from %s): %w", r.From.Name, err)
}

// rest plans what of an app can be run without the charts that could not be downloaded; in an upgrade also those of what runs
// before, and both sides without both. The error is that of the charts if nothing can be run, or if something else is wrong.
func (f bundlerFlags) rest(ctx context.Context, r *matrix.Runner, read *intake.Bundle, failed, before error, plan func(*intake.Bundle) ([]matrix.Plan, error)) ([]matrix.Plan, error) {
	components, _ := read.Components()
	absent := &matrix.Absent{Err: cmp.Or(failed, before), Advice: withoutNetwork, Of: len(components)}
	for side, err := range []error{failed, before} {
		several := charts.NotDownloaded(err)
		if err != nil && several == nil || err != nil && r.From != nil && r.From.LeaveOut == nil {
			return nil, err
		}
		if several == nil {
			continue
		}
		for i, name := range several.Components() {
			if slices.Contains(absent.Apps, name) {
				continue
			}
			absent.Apps = append(absent.Apps, name)
			if why := several.Errs[i]; side > 0 {
				absent.Errs = append(absent.Errs, fmt.Errorf("what runs before (--from %s): %w", r.From.Name, why))
			} else {
				absent.Errs = append(absent.Errs, why)
			}
		}
	}
	if failed == nil {
		failed = before
	}
	absent.Dependents = read.Dependents(absent.Apps)
	if r.From != nil {
		others, err := r.From.LeaveOut(ctx, slices.Concat(absent.Apps, absent.Dependents))
		if err != nil {
			return nil, err
		}
		absent.Dependents = append(absent.Dependents, others...)
		absent.Dependents = append(absent.Dependents, read.Dependents(slices.Concat(absent.Apps, absent.Dependents))...)
		for _, name := range slices.Concat(absent.Apps, absent.Dependents) {
			if !slices.ContainsFunc(components, func(c recipe.Component) bool { return c.Name == name }) {
				absent.Of++ // only what runs before has it
			}
		}
	}
	part := *f.found
	if part.Without = slices.Concat(absent.Apps, absent.Dependents); len(part.Without) >= absent.Of {
		return nil, failed
	}
	rest, err := part.Open(ctx, read.Deployer())
	if err != nil {
		return nil, fmt.Errorf("%w\nthe rest cannot be run without them: %s", failed, err)
	}
	r.Bundler = intake.NewDir(rest)
	plans, err := plan(rest)
	for i := range plans {
		plans[i].LeaveOut(absent)
	}
	return plans, err
}

const withoutNetwork = "without a network, put the chart, packaged or unpacked, into a directory and run with --charts DIR"

// offline says what helps where a chart of an app cannot be downloaded.
func offline(err error) error {
	if reason.Of(err) != reason.ChartDownloadFailed {
		return err
	}
	return fmt.Errorf("%w; %s", err, withoutNetwork)
}

// dependents adds to the error of charts that cannot be had what depends on them.
func dependents(err error, read *intake.Bundle) error {
	var several *charts.SeveralError
	if !errors.As(err, &several) {
		return err
	}
	if others := read.Dependents(several.Components()); len(others) > 0 {
		return fmt.Errorf("%w\nwhat depends on them: %s", err, strings.Join(lists.AtMost(others, 20), ", "))
	}
	return err
}

// haveCharts returns an error, at the places that name them, for charts that no source has.
func haveCharts(ctx context.Context, source catalog.Source, components []recipe.Component) error {
	several := &charts.SeveralError{}
	for i := range components {
		c := &components[i]
		if c.Chart == "" {
			continue
		}
		_, _, err := source.Load(ctx, catalog.RefOf(c))
		var none *catalog.NotFoundError
		if errors.As(err, &none) {
			err = &recipe.FileError{File: c.Declared.File, Line: c.Declared.Line, Err: err}
			several.Add(catalog.RefOf(c), reason.Wrap(reason.Usage, err))
		} else if reason.Of(err) == reason.ChartDownloadFailed {
			several.Add(catalog.RefOf(c), err)
		} else if err != nil {
			return err
		}
	}
	if len(several.Errs) == 0 {
		return nil
	}
	if charts.NotDownloaded(several) == nil {
		return &reason.Error{Reason: reason.Usage, Err: several}
	}
	return &reason.Error{Reason: reason.ChartDownloadFailed, Err: several}
}

// untainted gives profiles whose nodes have no taint of simulated ones, which no app tolerates.
func untainted(profiles []simulate.Profile) []simulate.Profile {
	profiles = slices.Clone(profiles)
	for i := range profiles {
		profiles[i].Spec.Untainted = true
	}
	return profiles
}
