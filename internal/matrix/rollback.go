package matrix

import (
	"context"

	"github.com/nvidia/aicr-action/internal/matrix/change"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/daytwo"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// rollbackSteps deliver what ran before the upgrade once more, and judge it as the upgrade was
// judged: what ran before must be back.
func (c *cellRun) rollbackSteps() []step {
	return []step{
		{"Delivering the rollback", "rollback", c.ofRollback(c.rollBack), false},
		{"Waiting for the rollback", "rollback-sync", c.ofRollback(c.gateRollback), false},
		{"Reading back after the rollback", "rollback-verify", c.ofRollback(c.verifyRollback), false},
	}
}

// ofRollback says of what the deployer or the API server rejects that it was the rollback.
func (c *cellRun) ofRollback(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := daytwo.RollbackFailed(c.plan.base.name, do(ctx), c.bundles(), c.lastView())
		return c.lost(ctx, daytwo.RollbackTo(c.plan.base.name), err, c.upgrade.after)
	}
}

// rollBack is `helm rollback` where Helm has the history, and elsewhere a delivery of the old
// bundle, as after a revert in Git.
func (c *cellRun) rollBack(ctx context.Context) error {
	c.upgrade.record = c.upgrade.upgraded
	if err := c.fill(ctx, daytwo.Bundles{Before: c.upgrade.next.bundle, Now: c.upgrade.old.bundle}); err != nil {
		return err
	}
	if l, ok := c.lane.(lane.RollsBack); ok {
		c.env.Before = c.env.Bundle
		if err := c.use(c.upgrade.old); err != nil {
			return err
		}
		return l.RollBack(ctx, c.env)
	}
	return c.deliver(ctx, c.upgrade.old)
}

// gateRollback waits until the old bundle is again as it promises. What the gate notes was said of
// the upgrade, or is not about the change.
func (c *cellRun) gateRollback(ctx context.Context) error {
	if _, err := c.newGate(c.gateLane()).Pass(ctx); err != nil {
		return err
	}
	return c.lane.Unchanged(ctx)
}

// verifyRollback compares the objects with those before the upgrade, and judges what the rollback has
// removed. Reasons: UPGRADE_DIVERGED, UPGRADE_FAILED.
func (c *cellRun) verifyRollback(ctx context.Context) error {
	c.bundles().Settled(ctx, c.env)
	if err := c.taken(ctx, daytwo.RollbackTo(c.plan.base.name), reason.UpgradeDiverged); err != nil {
		return err
	}
	rec, err := c.readBack(ctx, c.upgrade.record.Want, "rollback")
	if err != nil {
		return err
	}
	state := &change.Reading{Env: c.env, Own: rec.Objects, Before: c.upgrade.after}
	now, err := c.capture(ctx, rec.Objects, nil, state)
	if err != nil {
		return err
	}
	now.Before = c.captured
	said := &result.Result{Cell: c.plan.Cell}
	notes, err := compare.RolledBack(ctx, compare.Lane{Result: said, Live: c.upgrade.before}, compare.Lane{Result: said, Live: now}, compare.BenignRules())
	c.result.Notes = append(append(c.result.Notes, said.Notes...), notes...)
	c.result.DeclaredDifferences += said.DeclaredDifferences
	if err = c.rule(err); err != nil {
		return err
	}
	return c.aftermath(ctx, daytwo.Arrived{What: daytwo.RollbackTo(c.plan.base.name), Was: c.upgrade.after.UID, Change: change.Between(c.upgrade.after, state.State, change.Options{})})
}
