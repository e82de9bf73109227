package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/schedulers"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// shippedSchedulers are the shipped schedulers that flags and workflows ask for, sorted.
func shippedSchedulers(p workflowPlace, plan *workflow.Plan) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(cli.SplitList(p.run), plan.Schedulers()...))))
}

// secondSchedulers are the schedulers that run beside the default one, which may not be compiled yet. Every scheduler that pods ask for must be one of
// them, or be played.
func (a *app) secondSchedulers(p workflowPlace, plan *workflow.Plan, played []string) ([]schedulers.Scheduler, error) {
	var all []schedulers.Scheduler
	names := slices.Clone(played)
	for _, name := range shippedSchedulers(p, plan) {
		s, err := schedulers.New(name, a.Schedulers)
		if err != nil {
			return nil, cli.Usagef("--scheduler: %w", err)
		}
		all = append(all, s)
	}
	if p.program != "" {
		name, path, _ := strings.Cut(p.program, "=")
		s, err := schedulers.FromProgram(name, path, p.config)
		if err != nil {
			return nil, cli.Usagef("--scheduler-program: %w", err)
		}
		all = append(all, s)
	}
	if err := schedulers.Twice(all, played); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	for _, s := range all {
		names = append(names, s.Profiles()...)
	}
	if missing := plan.MissingSchedulers(names); len(missing) > 0 {
		return nil, &reason.Error{Reason: reason.SchedulerMissing, Err: missing.Err()}
	}
	return all, nil
}

// buildSchedulers compiles the shipped schedulers that are not in the cache.
func (a *app) buildSchedulers(ctx context.Context, p workflowPlace, plan *workflow.Plan) error {
	groups := schedulers.Groups(shippedSchedulers(p, plan))
	if err := a.CheckGo(a.Schedulers, groups...); err != nil {
		return err
	}
	return a.Schedulers.Build(ctx, a.Progress, groups...)
}

// runSchedulers makes the cluster start the schedulers before the first workflow, and end them before it ends itself.
func (a *app) runSchedulers(on *workflowCluster, all []schedulers.Scheduler, runner *schedulers.Runner, cluster *embedded.ControlPlane) {
	var services *simulate.APIServiceStandIn
	runner.Serve = func(route simulate.Route) (err error) {
		services, err = cluster.ServeServices(route)
		return err
	}
	on.startSchedulers = func(ctx context.Context) error {
		for _, s := range all {
			t := a.Progress.Begin("Starting scheduler " + s.Name)
			err := runner.Start(ctx, s)
			t.End("", err)
			if err != nil {
				return err
			}
			if s.Admits() {
				on.notes = append(on.notes, fmt.Sprintf("scheduler %s (%s) admits Jobs, and the default scheduler places their pods", s.Name, s.Path))
				continue
			}
			on.notes = append(on.notes, fmt.Sprintf("scheduler %s (%s) places the pods of %s", s.Name, s.Path, strings.Join(s.Profiles(), ", ")))
		}
		return nil
	}
	end := on.end
	on.end = func(ctx context.Context) error {
		runner.Stop()
		if services != nil {
			services.Close()
		}
		return end(ctx)
	}
}
