package matrix

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/probe"
)

// planControllers returns the job controllers whose objects the recipe's probes create, with the
// controllers that these need, in the runner's order.
func (r *Runner) planControllers(probes []*probe.Probe, nodes []simulate.NodeGroup) ([]infra.JobController, error) {
	if len(r.JobControllers) == 0 {
		return nil, nil
	}
	needed := map[string]bool{}
	for _, p := range probes {
		groups, err := p.Groups(probeValues(nodes))
		if err != nil {
			return nil, &reason.Error{Reason: reason.Usage, Err: err}
		}
		for _, j := range r.JobControllers {
			if slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(j.Groups, g) }) {
				needed[j.Name] = true
				for _, name := range j.Needs {
					needed[name] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(r.JobControllers), func(j infra.JobController) bool { return !needed[j.Name] }), nil
}

// startJobControllers is the step before the probes.
func (c *cellRun) startJobControllers(ctx context.Context) error {
	var names, titles []string
	for _, j := range c.plan.controllers {
		if !c.ownController(j) {
			names, titles = append(names, j.Name), append(titles, j.String())
		}
	}
	if len(names) == 0 {
		return nil // those of the recipe run already
	}
	var err error
	if c.jobs, err = c.env.Cluster.StartJobControllers(ctx, probe.Namespace, names); err != nil {
		return err
	}
	c.result.Notes = append(c.result.Notes, fmt.Sprintf("controllers of users' jobs: %s run as their own programs beside the recipe's simulated pods, since the gate", strings.Join(titles, ", ")))
	if len(c.jobs.Installed) > 0 {
		c.result.Notes = append(c.result.Notes, "controllers of users' jobs: the recipe does not install the definitions "+strings.Join(c.jobs.Installed, ", ")+"; the programs' own were installed for the probes")
	}
	return nil
}

// ownController reports whether a controller runs as the recipe's own pods (--operators): a second
// one would act on the same jobs.
func (c *cellRun) ownController(j infra.JobController) bool {
	return slices.ContainsFunc(c.own, func(o infra.JobController) bool { return o.Name == j.Name })
}

// madeBy says, for each API group of the running controllers, which controllers create the pods of
// its objects.
func (c *cellRun) madeBy() map[string]string {
	beside := slices.DeleteFunc(slices.Clone(c.plan.controllers), c.ownController)
	return infra.MadeBy(c.own, beside)
}
