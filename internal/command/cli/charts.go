package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/egress"
	"github.com/nvidia/aicr-action/kwok"
)

const (
	// AutoCharts stands for the charts that the recipes are locked to, or else the simulated ones.
	AutoCharts           = "auto"
	allowPrivateVariable = "AICR_ACTION_ALLOW_PRIVATE"
	// Simulated is the chart source of the charts in the binary.
	Simulated = charts.SimulatedName
)

// ChartSources are the values of --charts that are not a directory.
func ChartSources() []string {
	return []string{AutoCharts, Simulated, charts.AnyVersionName, charts.UpstreamName, charts.UnlockedName, charts.DirectName}
}

// wantedCharts says what --charts takes.
const wantedCharts = "want auto, simulated, simulated-any-version, upstream, unlocked, direct, or a directory of charts"

// ChartsFlag adds --charts, whose values are for Charts. Usage says how the command uses the
// charts.
func ChartsFlag(cmd *cobra.Command, values *[]string, usage string) {
	cmd.Flags().StringArrayVar(values, "charts", []string{AutoCharts}, usage)
}

// Charts opens a chart source by the values of --charts: of several, the first that has a chart is
// where it comes from. The lock file of the sources that download is in the recipes directory,
// whose flag is recipesDir. A value that names no source is a usage error.
func (a *App) Charts(values []string, recipesDir string) (catalog.Source, error) {
	values = a.ChartsFor(values, recipesDir)
	var list charts.List
	for i, value := range values {
		if slices.Contains(values[:i], value) {
			return nil, Usagef("--charts %s is given twice", value)
		}
		if value == AutoCharts {
			return nil, Usagef("--charts auto cannot be one of a list: name the sources that it stands for, upstream or simulated")
		}
		if value == charts.DirectName && len(values) > 1 {
			return nil, Usagef("--charts direct cannot be one of a list: with it, the controllers pull every chart from where the recipe says")
		}
		source, err := a.chartSource(value, recipesDir)
		if err != nil {
			return nil, err
		}
		list = append(list, source)
	}
	switch len(list) {
	case 0:
		return nil, Usagef("--charts is empty: " + wantedCharts)
	case 1:
		return list[0], nil
	}
	return list, nil
}

// ChartsFor are the values of --charts for a recipes directory. The value auto becomes what it
// stands for: upstream where the recipes have a lock file, simulated elsewhere.
func (a *App) ChartsFor(flags []string, recipesDir string) []string {
	values := ChartValues(flags)
	if len(values) != 1 || values[0] != AutoCharts {
		return values
	}
	return []string{a.autoCharts(recipesDir)}
}

func (a *App) autoCharts(recipesDir string) string {
	_, err := a.ChartLock(recipesDir)
	var missing *charts.NoLockError
	if errors.As(err, &missing) {
		return Simulated
	}
	return charts.UpstreamName // a lock that cannot be read is an error, and no reason to simulate
}

// ChartValues are the values of --charts; one may have several, one a line, as an Action's input
// has.
func ChartValues(flags []string) []string {
	var values []string
	for _, f := range flags {
		for _, line := range strings.Split(f, "\n") {
			if line = strings.TrimSpace(line); line != "" || f == "" {
				values = append(values, line)
			}
		}
	}
	return values
}

func (a *App) chartSource(value, recipesDir string) (catalog.Source, error) {
	switch value {
	case Simulated, charts.AnyVersionName:
		fsys, err := fs.Sub(kwok.Files, "charts")
		if err != nil {
			return nil, err
		}
		return charts.NewSimulated(fsys, value == charts.AnyVersionName)
	case charts.UpstreamName, charts.DirectName:
		lock, err := a.ChartLock(recipesDir)
		if err != nil {
			return nil, fmt.Errorf("--charts %s: %w", value, err)
		}
		return a.Upstream(lock, value == charts.DirectName), nil
	case charts.UnlockedName:
		return &charts.Unlocked{Fetcher: a.Fetcher}, nil
	case "":
		return nil, Usagef("--charts is empty: " + wantedCharts)
	}
	source, err := charts.FromDir(value)
	if err != nil {
		return nil, reason.Wrap(reason.Usage, fmt.Errorf("--charts %s: "+wantedCharts+": %w", value, err))
	}
	return source, nil
}

// ChartLock reads the lock file of a recipes directory, or of the recipes in the binary.
func (a *App) ChartLock(recipesDir string) (*charts.Lock, error) {
	if dir := a.RecipesDirectory(recipesDir); dir != "" {
		return charts.ReadLock(os.DirFS(dir), dir)
	}
	layer, called, err := embedded()
	if err != nil {
		return nil, err
	}
	return charts.ReadLock(layer.FS, called)
}

// Upstream is the chart source of a lock file, with the charts of the cache directory.
func (a *App) Upstream(lock *charts.Lock, direct bool) *charts.Upstream {
	return &charts.Upstream{Lock: lock, Cache: a.ChartCache(), Direct: direct, Fetcher: a.Fetcher}
}

// Fetcher downloads charts, from the private hosts that the user allows, too.
func (a *App) Fetcher() (*charts.Fetcher, error) {
	allowed, err := egress.ParseAllowed(append(a.AllowPrivate, a.Getenv(allowPrivateVariable))...)
	if err != nil {
		return nil, Usagef("--allow-private, %s: %w", allowPrivateVariable, err)
	}
	return charts.NewFetcher(a.Getenv, allowed)
}

// ChartCache is where downloaded charts are kept.
func (a *App) ChartCache() charts.Cache {
	return charts.Cache{Dir: filepath.Join(a.Paths.Root, "charts")}
}

// ChartDirectories are those of the values of --charts that are directories.
func ChartDirectories(values []string) []string {
	return slices.DeleteFunc(ChartValues(values), func(v string) bool { return slices.Contains(ChartSources(), v) })
}
