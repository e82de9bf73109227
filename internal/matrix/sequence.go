package matrix

import (
	"context"
	"fmt"

	"github.com/nvidia/aicr-action/internal/matrix/change"
	"github.com/nvidia/aicr-action/internal/matrix/daytwo"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// baseSteps are the steps of what runs before, up to the moment at which the new version comes.
func (c *cellRun) baseSteps() []step {
	if c.plan.Cell.Sequence == result.SequenceFailed {
		return []step{
			{"Delivering what runs before, which is made to fail", "before-deploy", c.ofBase(c.deployFailing), false},
			{"Waiting for it to fail", "before-sync", c.ofBase(c.awaitFailure), false},
			{"Reading what it left", "before-verify", c.ofBase(c.readFailed), false},
		}
	}
	steps := []step{
		{"Deploying what runs before", "before-deploy", c.ofBase(c.deploy), false},
		{"Waiting for what runs before", "before-sync", c.ofBase(c.gateBase), false},
		{"Reading what runs before", "before-verify", c.ofBase(c.readBase), false},
	}
	if c.plan.Cell.Sequence == result.SequenceRemoved {
		steps = append(steps, step{"Removing what runs before", "before-remove", c.ofBase(c.removeBase), false})
	}
	return steps
}

// arrival names the delivery of the new version, for people.
func (c *cellRun) arrival() string {
	name := c.plan.base.name
	switch c.plan.Cell.Sequence {
	case result.SequenceFailed:
		return daytwo.AfterFailure(name)
	case result.SequenceRemoved:
		return daytwo.AfterRemoval(name)
	}
	return daytwo.UpgradeFrom(name)
}

// deployFailing delivers what runs before, which is not judged: it fails.
func (c *cellRun) deployFailing(ctx context.Context) error {
	c.deploys()
	c.upgrade.failing = daytwo.NewFailing(c.env, c.lane.Order(c.env))
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.upgrade.failing.Begin(ctx); err != nil {
		return err
	}
	for _, line := range c.upgrade.failing.How() {
		c.result.Overrides = append(c.result.Overrides, "made to fail: "+line)
	}
	c.env.BestEffort = true
	return c.lane.Deploy(ctx, c.env)
}

func (c *cellRun) awaitFailure(ctx context.Context) error {
	said, err := c.upgrade.failing.Await(ctx, c.lane)
	for _, line := range said {
		c.upgrade.past = append(c.upgrade.past, "before it failed: "+line)
	}
	return err
}

// readFailed reads what a delivery that failed has left.
func (c *cellRun) readFailed(ctx context.Context) error {
	c.env.BestEffort = false
	if err := c.patiently(ctx, "the deployer's records", func(ctx context.Context) (err error) {
		c.upgrade.record, err = c.lane.ReadBack(ctx, c.env)
		return reason.Wrap(reason.ClusterFailed, err)
	}); err != nil {
		return err
	}
	if err := c.patiently(ctx, "the Jobs that failed", func(ctx context.Context) (err error) {
		var left []string
		c.upgrade.failed, c.upgrade.spent, left, err = daytwo.FailedJobs(ctx, c.env, c.upgrade.next.bundle, c.lane.Order(c.env))
		if err == nil {
			c.result.Notes = append(c.result.Notes, left...)
		}
		return reason.Wrap(reason.ClusterFailed, err)
	}); err != nil {
		return err
	}
	return c.readLeft(ctx)
}

// readLeft reads what is in the cluster of what ran before: the cause of a difference may be that it is kept.
func (c *cellRun) readLeft(ctx context.Context) (err error) {
	state := &change.Reading{Env: c.env, Own: c.upgrade.record.Objects}
	c.upgrade.before, err = c.capture(ctx, c.upgrade.record.Objects, nil, state)
	c.upgrade.state = state.State
	return err
}

// removeBase removes what ran before in the deployer's own way, and reads what stays.
func (c *cellRun) removeBase(ctx context.Context) error {
	_, sync := c.lane.Budget(c.budgets())
	run := daytwo.Removal{Env: c.env, Lane: c.lane, Budget: c.Deadline.Shrink(sync), Rule: c.rule}
	stays, _, err := run.Do(ctx)
	for _, line := range stays {
		c.upgrade.past = append(c.upgrade.past, "stays of what was removed: "+line)
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("the removal of %s leaves behind: %s", c.plan.base.name, line))
	}
	if err != nil {
		return err
	}
	c.upgrade.record.Objects = nil
	return c.readLeft(ctx)
}

// deliverAfterRemoval delivers the new version as a first installation.
func (c *cellRun) deliverAfterRemoval(ctx context.Context) error {
	if err := c.carry(ctx); err != nil {
		return err
	}
	c.env.Log.Info("deliver after the removal", "before", c.plan.base.title)
	if err := c.use(c.upgrade.next); err != nil {
		return err
	}
	if err := c.judgeRendered(true); err != nil {
		return err
	}
	if err := c.judgeServed(ctx); err != nil {
		return err
	}
	if err := c.torn(ctx); err != nil {
		return err
	}
	c.env.Before = c.upgrade.old.bundle // to its registry and Git server it is the next one
	err := c.publish(ctx)
	c.env.Before = nil
	if err != nil {
		return err
	}
	return c.lane.Deploy(ctx, c.env)
}

// verifyAfterRemoval reads back what was installed. What it replaces and removes is what the removal left, on purpose.
func (c *cellRun) verifyAfterRemoval(ctx context.Context) error {
	if err := c.verify(ctx); err != nil {
		return err
	}
	c.foresee()
	return nil
}

// recalled adds to a failure of the new version what is left of what ran before.
func (c *cellRun) recalled(err error) error {
	if len(c.upgrade.past) == 0 || err == nil || !reason.OfRecipe(err) {
		return err
	}
	v := result.VerdictOf(err)
	if len(v.Findings) == 0 {
		return err
	}
	if v.Reason != reason.UpgradeFailed && v.Reason != reason.UpgradeDiverged { // these say of what they are
		v.Findings[0].Cause = c.arrival() + ": " + v.Findings[0].Cause
	}
	v.Findings[0].Story = append(v.Findings[0].Story, c.upgrade.past...)
	return &reason.Error{Reason: v.Reason, Component: v.Component, Err: &result.Failure{Findings: v.Findings, Stage: v.Stage}}
}
