package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// verdictAfter joins the cell's error and the error of close. A failed cell keeps its verdict; what
// went wrong in close becomes warnings, since the debug artifacts may be incomplete.
func (c *cellRun) verdictAfter(err, closing error) error {
	if err == nil || closing == nil {
		return errors.Join(err, closing)
	}
	c.env.Log.Error("the end of a failed cell", "err", closing)
	c.result.Warnings = append(c.result.Warnings, strings.Split(closing.Error(), "\n")...)
	return err
}

// locate gives the findings of a verdict on the recipe their lines in its files.
func (c *cellRun) locate(err error) {
	if f, ok := errors.AsType[*result.Failure](err); ok && c.env.Bundle != nil && reason.OfRecipe(err) {
		why.Locate(c.plan.Components(), c.env.Bundle, f.Findings)
	}
}

// programmed is a cluster that knows which programs, given for pods, no pod needed, and what those that
// ran may not do: either would else be a pass of what did not work.
type programmed interface {
	Unused() []infra.Unneeded
	Denied() []infra.Denial
}

// close collects the debug artifacts and then stops everything, in reverse order of start. Each
// part has a time of its own, whatever is left of the cell's: a cluster that is kept must not be
// left half started because collecting took long. A cell whose turn has not come leaves nothing.
func (c *cellRun) close(ctx context.Context, failure error) error {
	ctx = context.WithoutCancel(ctx)
	if c.env.Cluster != nil {
		c.result.StandIns = append(c.result.StandIns, c.env.Cluster.StandIns()...)
		if f, ok := errors.AsType[*result.Failure](failure); ok {
			f.Quote(c.env.Cluster.Complaints(f.Cause()), reason.Of(failure))
		}
		if u, ok := c.env.Cluster.(programmed); ok && failure == nil && !c.startedAhead {
			for _, p := range u.Unused() {
				c.unneeded, c.result.Warnings = append(c.unneeded, p), append(c.result.Warnings, p.Text)
			}
			c.result.Warnings = append(c.result.Warnings, deniedLines(u.Denied(), c.env.Bundle.Expectation.Objects)...)
		}
	}
	if failure != nil && !c.startedAhead {
		c.foresee()
	}
	if !c.startedAhead {
		c.countNodes(ctx)
	}
	c.stopObserving() // before probes and the cluster are removed: that is no placement
	var errs []error
	if c.Artifacts != "" && !c.startedAhead {
		if err := c.artifactSource().Collect(ctx, failure); err != nil {
			errs = append(errs, reason.Wrap(infra.DiskReason(err, reason.Internal), fmt.Errorf("collect the debug artifacts: %w", err)))
		}
	}
	if c.probes != nil { // after the artifacts: they show what a failed probe created
		errs = append(errs, c.probes.Clean(ctx))
	}
	if err := stopped(c.lane, laneStop); err != nil {
		errs = append(errs, err)
	}
	if c.Keep && !c.startedAhead && c.env.Clients != nil {
		errs = append(errs, c.keep(ctx))
	}
	if c.env.Cluster != nil {
		errs = append(errs, c.env.Cluster.Down(ctx))
		c.result.Processes = c.env.Cluster.Processes()
	}
	errs = append(errs, c.log.Close())
	return errors.Join(append(errs, filesys.RemoveTree(c.dir))...)
}

// laneStop bounds a lane's stop. Its processes are killed, and need a moment.
const laneStop = 30 * time.Second

// stopped stops a lane, and waits no longer than budget: whatever a lane does, its cell ends, with
// a result.
func stopped(l lane.Lane, budget time.Duration) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Stop()
	}()
	select {
	case <-done:
		return nil
	case <-time.After(budget):
		return reason.New(reason.Internal, "the lane %s did not stop within %s; the run goes on without it", l.Deployer().Name(), budget)
	}
}

func (c *cellRun) artifactSource() *artifactsSource {
	s := &artifactsSource{
		Artifacts: c.Artifacts, RunID: c.attemptID(), NoSnapshot: c.NoSnapshot, Result: &c.result, Env: c.env, Lane: c.lane, HarnessLog: c.harnessLog(), Measured: c.snapshotFile(), Refused: c.refused,
		Started: slices.ContainsFunc(c.result.Phases, func(p result.Phase) bool { return p.Name == "cluster" }),
	}
	if c.gated != nil {
		s.Observed = c.gated.Observed()
	}
	return s
}

// keep leaves the cluster running, with the provenance that `matrix why` reads.
func (c *cellRun) keep(ctx context.Context) error {
	c.result.Kubeconfig = c.env.Cluster.Kubeconfig()
	origin, err := why.Provenance{Cell: c.plan.Cell, Workloads: c.env.Bundle.Expectation.Workloads, Groups: simulate.Growing(c.plan.nodes)}.Encode()
	if err != nil {
		return err
	}
	return c.env.Cluster.Keep(ctx, map[string][]byte{why.ProvenanceFile: origin})
}

// watchProcesses ends the cell when one of its processes exits by itself.
func (c *cellRun) watchProcesses(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case death := <-c.env.Cluster.Died():
		c.env.Log.Error("a process ended", "component", death.Name, "err", death.Err)
		cancel(death.Failure())
	case <-ctx.Done():
	}
}
