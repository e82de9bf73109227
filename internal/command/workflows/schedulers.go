package workflows

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// secondSchedulers are the programs that run beside the default scheduler, which may not be
// compiled yet: first the controllers, since a scheduler may watch their kinds. Every scheduler
// that pods name must be one of them, or be simulated.
func (a *app) secondSchedulers(p workflowPlace, plan *workflow.Plan, played []string) ([]addons.Scheduler, error) {
	var all []addons.Scheduler
	names := slices.Clone(played)
	controllers := addons.WithNeeded(platform.Asked(p.controllers, plan.Controllers()))
	for _, name := range controllers {
		c, err := addons.NewController(name, a.Schedulers)
		if err != nil {
			return nil, cli.Usagef("--controller: %w", err)
		}
		all = append(all, c)
	}
	for _, name := range platform.Asked(p.run, plan.Schedulers()) {
		s, err := addons.New(name, a.Schedulers)
		if err == nil {
			s, err = s.With(controllers)
		}
		if err != nil {
			return nil, cli.Usagef("--scheduler: %w", err)
		}
		all = append(all, s)
	}
	if p.program != "" {
		name, path, _ := strings.Cut(p.program, "=")
		s, err := addons.FromProgram(name, path, p.config)
		if err != nil {
			return nil, cli.Usagef("--scheduler-program: %w", err)
		}
		all = append(all, s)
	}
	if err := addons.Twice(all, played); err != nil {
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

// runSchedulers makes the cluster start the programs before the first workflow, and end them before
// it ends itself.
func (a *app) runSchedulers(on *workflowCluster, all []addons.Scheduler, runner *addons.Runner, cluster *embedded.ControlPlane) {
	var services *simulate.APIServiceStandIn
	runner.Serve = func(route simulate.Route) (err error) {
		services, err = cluster.ServeServices(route)
		return err
	}
	on.startSchedulers = func(ctx context.Context) error {
		for _, s := range all {
			t := a.Progress.Begin("Starting " + s.String())
			err := runner.Start(ctx, s)
			t.End("", err)
			if err != nil {
				return err
			}
			does := "places the pods of " + strings.Join(s.Profiles(), ", ")
			switch {
			case s.Admits():
				does = "admits " + s.Admitted() + ", and the default scheduler places their pods"
			case s.Controls():
				does = s.Does()
			}
			on.notes = append(on.notes, fmt.Sprintf("%s (%s) %s", s, s.Path, does))
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
