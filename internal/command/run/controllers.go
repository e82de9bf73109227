package run

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/verify/probe"
)

// controllerFlag is the flag of the controllers that run for real during the probes.
func controllerFlag(cmd *cobra.Command, value *[]string) {
	cmd.Flags().StringSliceVar(value, "controller", nil, "with --probes: `name` of a controller to run for the jobs of its kinds, compiled at first use: "+strings.Join(addons.Controllers(), ", ")+" (default: the recipe's own with --operators real or auto, else the harness creates their pods)")
}

// jobControllers are the controllers that --controller names, and those that they need. They may
// not be compiled yet.
func (a *app) jobControllers(f runFlags) ([]addons.Scheduler, error) {
	names := platform.Asked(f.controllers, nil)
	var all []addons.Scheduler
	for _, name := range addons.WithNeeded(names) {
		c, err := addons.NewController(name, a.Schedulers)
		if err != nil {
			return nil, cli.Usagef("--controller: %w", err)
		}
		all = append(all, c)
	}
	switch {
	case len(all) == 0:
		return nil, nil
	case !f.probes:
		return nil, cli.Usagef("--controller %s runs the controller of the probes' jobs, and there are none without --probes", strings.Join(names, ","))
	}
	return all, nil
}

// controlled are the recipes in whose cells controllers of jobs run. With none it is an error,
// unless a change chooses the cells.
func controlled(f runFlags, plans []matrix.Plan) ([]string, error) {
	if len(f.jobs) == 0 {
		return nil, nil
	}
	var with, all []string
	for _, p := range plans {
		if all = append(all, p.Cell.Recipe); p.RunsControllers() {
			with = append(with, p.Cell.Recipe)
		}
	}
	if len(with) == 0 && f.tiers == nil {
		return nil, cli.Usagef("--controller %s: no probe of %s has a job for it; leave it out, or name a recipe with the component that such a probe is for (recipes/probes)",
			strings.Join(platform.Asked(f.controllers, nil), ","), strings.Join(lists.AtMost(lists.Unique(all), 4), ", "))
	}
	return lists.Unique(with), nil
}

// withControllers are the flags of a cell: a command with --controller is refused for a recipe that
// has no job for one.
func (f runFlags) withControllers(runs bool) runFlags {
	if !runs {
		f.controllers = nil
	}
	return f
}

func jobsOf(all []addons.Scheduler) []infra.JobController {
	var jobs []infra.JobController
	for _, s := range all {
		jobs = append(jobs, s.Job())
	}
	return jobs
}

// withRunningJobs has the pods of the probes' Jobs hold their nodes.
func withRunningJobs(stages []byte) ([]byte, error) {
	more, err := simulate.KeepJobsRunning(probe.Namespace)
	if err != nil {
		return nil, fmt.Errorf("prepare the clusters for --controller: %w", err)
	}
	return append(append(stages, "\n---\n"...), more...), nil
}
