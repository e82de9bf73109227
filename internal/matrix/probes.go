package matrix

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/probe"
)

// planProbes reads the probes for a recipe before anything is started; none without --probes.
func (r *Runner) planProbes(res *recipe.Result, nodes []simulate.NodeGroup) ([]*probe.Probe, error) {
	if !r.Probes {
		return nil, nil
	}
	all, err := probe.Load(r.Store)
	if err != nil {
		return nil, &reason.Error{Reason: reason.Usage, Err: err}
	}
	mine := probe.For(all, res)
	switch {
	case len(mine) == 0:
		return nil, reason.New(reason.Usage, "recipe %s has none of the components and criteria that the %d probes in recipes/probes are for, so --probes would check nothing; add a probe, or leave --probes out", res.Metadata.Name, len(all))
	case probeValues(nodes).GPUs == 0:
		return nil, reason.New(reason.Usage, "recipe %s: its nodes have no GPUs by their profiles, and --probes runs jobs that want some; leave --probes out, or give a profile with spec.gpu (--profiles DIR)", res.Metadata.Name)
	}
	return mine, nil
}

// probeValues returns the GPUs that the recipe's nodes must have.
func probeValues(groups []simulate.NodeGroup) probe.Values {
	v := probe.Values{Namespace: probe.Namespace}
	for _, n := range simulate.MostNodes(groups) {
		gpus := infra.NodeGPUs(n)
		if gpus == 0 {
			continue
		}
		if v.Nodes == 0 || gpus < v.GPUsPerNode {
			v.GPUsPerNode = gpus
		}
		v.Nodes++
		v.GPUs += gpus
	}
	return v
}

// playedSchedulers returns the schedulers that the recipe installs, that its pods or probes
// request, and that kube-scheduler has to simulate. Those whose images run for real are noted in
// c.running instead.
func (c *cellRun) playedSchedulers(runs func(*corev1.Container) bool) []string {
	e := &c.env.Bundle.Expectation
	names := facts.Schedulers(e, runs)
	c.running = facts.OwnSchedulers(e, runs)
	for _, p := range c.plan.probes {
		name := p.Spec.Scheduler
		switch {
		case slices.Contains(names, name) || slices.Contains(c.running, name) || facts.RunsScheduler(e, name) == "":
		case facts.RunsForReal(e, name, runs):
			c.running = append(c.running, name)
		default:
			names = append(names, name)
		}
	}
	return names
}

// runProbes is the step after the gate and the health checks. Reasons: PROBE_FAILED; CLUSTER_FAILED
// if the cluster did not do its part. The objects of a failed probe are removed after the debug
// artifacts are collected.
func (c *cellRun) runProbes(ctx context.Context) error {
	c.probes = &probe.Run{Clients: c.env.Clients, Made: c.madeBy(), Probes: c.plan.probes, Values: probeValues(c.plan.nodes), Played: c.played, Running: c.running, Origin: c.originOf, Tell: c.env.Tell}
	if c.jobs != nil {
		c.probes.Clients = c.jobs.Clients
	}
	list, failure, err := c.probes.Run(ctx)
	c.result.Overrides = append(c.result.Overrides, c.probes.Overrides()...)
	c.result.Validation = append(c.result.Validation, list...)
	switch {
	case err != nil:
		return err
	case failure != nil:
		failure.Stage = result.StageSchedule
		return &reason.Error{Reason: reason.ProbeFailed, Err: failure}
	}
	return c.probes.Clean(ctx)
}

// originOf returns where the recipe defines a cluster-scoped object; nil if no chart of it does.
func (c *cellRun) originOf(ref result.Ref) *probe.Origin {
	for i := range c.env.Bundle.Expectation.Objects {
		o := &c.env.Bundle.Expectation.Objects[i]
		if gvk := o.Object.GroupVersionKind(); gvk.Group != ref.Group || gvk.Kind != ref.Kind || o.Object.GetName() != ref.Name || o.Object.GetNamespace() != ref.Namespace {
			continue
		}
		at, where := facts.PlaceOf(c.plan.Components(), o.Component, o.Template, ref.Name)
		if !strings.Contains(where, o.Template) {
			where = "template " + o.Template + ", " + where
		}
		return &probe.Origin{Component: o.Component, Place: at, Where: where}
	}
	return nil
}
