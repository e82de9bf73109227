package matrix

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/restmapper"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/chainsaw"
)

// checkBudget bounds the health checks of a cell. The gate has passed, so that their objects have
// settled.
const checkBudget = 60 * time.Second

// leastCheckBudget is left to the checks when the gate has used up the cell's sync budget.
const leastCheckBudget = 5 * time.Second

// planChecks are the health checks of a cell, and the components that have none.
type planChecks struct {
	list    []*chainsaw.Check
	without []string
	content map[string]string // of the files, by component
}

// healthChecks reads the checks of a recipe's components, before anything is started; none without
// --checks.
func (r *Runner) healthChecks(name string, components []recipe.Component) (planChecks, error) {
	var plan planChecks
	if !r.Checks {
		return plan, nil
	}
	plan.content = map[string]string{}
	var found []error
	for i := range components {
		c := &components[i]
		file, ok, err := r.Store.HealthCheck(c)
		switch {
		case err != nil:
			found = append(found, err)
			continue
		case !ok:
			plan.without = append(plan.without, c.Name)
			continue
		}
		check, err := chainsaw.Parse(c.Name, c.Namespace, file.File, file.Content)
		if err != nil {
			found = append(found, err)
			continue
		}
		plan.list = append(plan.list, check)
		plan.content[c.Name] = string(file.Content)
	}
	if len(found) > 0 {
		return planChecks{}, &reason.Error{Reason: reason.Usage, Err: errors.Join(found...)}
	}
	if len(plan.list) == 0 {
		return planChecks{}, reason.New(reason.Usage, "recipe %s: no component has a health check, so --checks would check nothing; name one in registry.yaml (healthCheck.assertFile), or leave --checks out", name)
	}
	return plan, nil
}

// runChecks is the step after the gate. Reasons: CHECK_FAILED; CLUSTER_FAILED if the cluster could
// not be read.
func (c *cellRun) runChecks(ctx context.Context) error {
	groups, err := restmapper.GetAPIGroupResources(c.env.Clients.Discovery)
	if err != nil {
		return reason.New(reason.ClusterFailed, "discover the cluster's kinds: %w", err)
	}
	cluster, remove, err := chainsaw.ReadOnly(ctx, c.env.Clients.Config, c.env.Clients.Kube, groups)
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	defer remove()
	failures, err := chainsaw.Run(ctx, cluster, c.plan.checks.list, c.checkBudget())
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	if len(failures) > 0 {
		return &reason.Error{Reason: reason.CheckFailed, Err: checkFinding(failures)}
	}
	for _, check := range c.plan.checks.list {
		c.result.Checks += check.Operations()
	}
	for _, name := range c.plan.checks.without {
		c.result.Notes = append(c.result.Notes, "component "+name+" has no health check")
	}
	return nil
}

// checkBudget returns what is left of the lane's sync budget, at most 60 s.
func (c *cellRun) checkBudget() time.Duration {
	_, sync := c.lane.Budget(c.budgets())
	for _, p := range c.result.Phases {
		if p.Name == "sync" {
			sync -= p.Duration
		}
	}
	return min(checkBudget, max(sync, leastCheckBudget))
}

// checkFinding reports every failed check with its difference; the first is the cause.
func checkFinding(failures []chainsaw.Failure) *result.Failure {
	first := failures[0]
	f := result.Finding{Cause: first.String(), Component: first.Component, Place: result.Place{File: first.File, Line: first.Line}}
	if len(failures) > 1 {
		f.Cause += fmt.Sprintf(" (and %d more)", len(failures)-1)
	}
	for _, failure := range failures {
		f.Story = append(f.Story, failure.String())
		for _, line := range failure.Why[min(1, len(failure.Why)):] {
			f.Story = append(f.Story, "  "+line)
		}
	}
	return result.NewFailure(f)
}
