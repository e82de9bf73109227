package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// chartsReady rejects a run with unavailable charts, and downloads those that are not in the cache.
func (a *app) chartsReady(ctx context.Context, source catalog.Source, plans []matrix.Plan) error {
	var recipes [][]charts.Pin
	for i, p := range plans {
		if i == 0 || p.Cell.Recipe != plans[i-1].Cell.Recipe { // the lanes of a recipe follow each other
			recipes = append(recipes, charts.Pins(p.Components()))
		}
	}
	return a.PullCharts(ctx, source, recipes)
}

// chartsOf is chartsReady of which plans are left that have their charts. The cells of the others have failed: a recipe is
// judged as a whole. Where charts could not be downloaded for any of the plans, or something else is wrong, that is the error.
// With before, the charts are those of what the plans upgrade.
func (a *app) chartsOf(ctx context.Context, runner *matrix.Runner, source catalog.Source, plans []matrix.Plan, before bool) (ready []matrix.Plan, failed []result.Result, err error) {
	of := func(p matrix.Plan) []recipe.Component { return p.Components() }
	all := plans
	if before {
		all = matrix.Before(plans)
		of = func(p matrix.Plan) []recipe.Component {
			var components []recipe.Component
			for _, base := range matrix.Before([]matrix.Plan{p}) {
				components = append(components, base.Components()...)
			}
			return components
		}
	}
	err = a.chartsReady(ctx, source, all)
	several := charts.NotDownloaded(err)
	if several == nil {
		return plans, nil, err
	}
	for _, p := range plans {
		own := &charts.SeveralError{}
		for _, pin := range charts.Pins(of(p)) {
			for i, ref := range several.Refs {
				if ref.Repository == pin.Repository && ref.Name == pin.Name && ref.Version == pin.Version && !slices.Contains(own.Errs, several.Errs[i]) {
					own.Add(pin.Ref, several.Errs[i])
				}
			}
		}
		if len(own.Errs) == 0 {
			ready = append(ready, p)
			continue
		}
		failed = append(failed, runner.NotRun(p.Cell, result.VerdictOf(&reason.Error{Reason: reason.ChartDownloadFailed, Err: own})))
	}
	if len(ready) == 0 || len(failed) == 0 {
		return nil, nil, err
	}
	return ready, failed, nil
}

// direct gives what controllers may reach with --charts direct; nil with another source.
func direct(source catalog.Source) func([]recipe.Component) (*infra.Egress, error) {
	u := charts.Downloads(source)
	if u == nil || !u.Direct {
		return nil
	}
	return func(components []recipe.Component) (*infra.Egress, error) {
		pins := charts.Pins(components)
		if err := u.Lock.Fits(pins); err != nil {
			return nil, err
		}
		hosts, err := u.Hosts(pins)
		if err != nil {
			return nil, err
		}
		fetcher, err := u.Fetcher()
		if err != nil {
			return nil, err
		}
		e := &infra.Egress{Hosts: hosts, Guard: fetcher.Guard()}
		for _, host := range hosts { // before a cell opens its sandbox for them
			if err := e.Guard.Check(host); err != nil {
				return nil, reason.Wrap(reason.ChartDownloadFailed, fmt.Errorf("--charts direct, for what %s has: %w", u.Lock.File, err))
			}
		}
		for _, p := range pins {
			e.Repositories = append(e.Repositories, p.Repository)
			if strings.HasPrefix(p.Repository, "oci://") { // Argo CD's repository is the chart's own
				e.Repositories = append(e.Repositories, strings.TrimSuffix(p.Repository, "/")+"/"+p.Name)
			}
		}
		e.Repositories = lists.Unique(e.Repositories)
		return e, nil
	}
}
