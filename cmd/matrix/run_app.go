package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/intake"
	appdir "github.com/nvidia/aicr-action/internal/intake/app"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// appService is the service whose nodes an app gets by default: those of no provider.
func appService() string { return "kind" }

// settleApp finds what --app names, and the lane for it where the user names none.
func (f *runFlags) settleApp(ctx context.Context) error {
	b := &f.bundles
	if b.app == "" || b.dir != "" {
		return nil
	}
	var err error
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
	return appDirectory(f.bundles.app)
}

// appDirectory is the directory of an app, which has its lock file.
func appDirectory(app string) string {
	if info, err := os.Stat(app); err == nil && !info.IsDir() {
		return filepath.Dir(app)
	}
	return app
}

// appPins are the charts from elsewhere that an app names, in an environment if it is a helmfile.
func appPins(ctx context.Context, path, environment string) ([]charts.Pin, error) {
	found, err := appdir.FindApp(ctx, path, nil)
	if err == nil && environment != "" && !found.IsHelmfile() {
		err = fmt.Errorf("--environment is for a helmfile, and %s is none", path)
	}
	if err != nil {
		return nil, reason.Wrap(reason.Usage, err)
	}
	found.Environment = environment
	d, err := bundle.ByName([]string{found.Deployer})
	if err != nil {
		return nil, err
	}
	read, err := found.Open(ctx, d[0])
	if err != nil {
		return nil, reason.Wrap(reason.Usage, err)
	}
	components, _ := read.Components()
	pins := charts.Pins(components)
	for i := range pins {
		pins[i].Ranges = true
	}
	return pins, nil
}

// openApp lays out what --app names, and plans its one cell.
func (a *app) openApp(ctx context.Context, args []string, f bundlerFlags, d bundle.Deployer) (matrix.Bundler, func(*matrix.Runner) ([]matrix.Plan, error), error) {
	name, err := oneName(args, f.found.Name())
	if err != nil {
		return nil, nil, err
	}
	f.found.Namespace, f.found.Environment = f.namespace, f.environment
	read, err := f.found.Open(ctx, d)
	if err != nil {
		return nil, nil, reason.Wrap(reason.Usage, err)
	}
	plan := planOne(read, name, d, cli.FirstOf(f.service, appService()), f.accelerator)
	return intake.NewDir(read), func(r *matrix.Runner) ([]matrix.Plan, error) {
		plans, err := plan(r)
		if err != nil {
			return nil, err
		}
		if err := a.PullCharts(ctx, r.Charts, [][]charts.Pin{charts.Pins(plans[0].Components())}); err != nil {
			return nil, offline(err)
		}
		return plans, haveCharts(ctx, r.Charts, plans[0].Components())
	}, nil
}

// offline says what helps where a chart of an app cannot be downloaded.
func offline(err error) error {
	if reason.Of(err) != reason.ChartDownloadFailed {
		return err
	}
	return fmt.Errorf("%w; without a network, put the chart, packaged or unpacked, into a directory and run with --charts DIR", err)
}

// haveCharts returns an error, at the place that names it, for a chart that no source has.
func haveCharts(ctx context.Context, source catalog.Source, components []recipe.Component) error {
	for i := range components {
		c := &components[i]
		if c.Chart == "" {
			continue
		}
		_, _, err := source.Load(ctx, catalog.RefOf(c))
		var none *catalog.NotFoundError
		if errors.As(err, &none) {
			return reason.Wrap(reason.Usage, &recipe.FileError{File: c.Declared.File, Line: c.Declared.Line, Err: err})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// untainted gives profiles whose nodes have no taint of simulated ones, which no app tolerates.
func untainted(profiles []simulate.Profile) []simulate.Profile {
	profiles = slices.Clone(profiles)
	for i := range profiles {
		profiles[i].Spec.Untainted = true
	}
	return profiles
}
