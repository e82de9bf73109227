package matrix

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/change"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/daytwo"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/intact"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// verify runs when the gate has passed. It compares the deployer's own records with the bundle,
// both ways. Then it captures the live objects, normalised, for the comparison with the recipe's
// other lanes. Reasons: DEPLOY_FAILED for a release that is missing, unexpected or different from
// the bundle's; CLUSTER_FAILED if the cluster cannot be read.
func (c *cellRun) verify(ctx context.Context) error {
	if f := lane.RecipeMismatch(c.env.Bundle); f != nil && c.env.Bundle.Foreign == nil { // a foreign bundle may differ, and was compared when it was read
		return &reason.Error{Reason: reason.Internal, Err: f}
	}
	var before []lane.Delivery
	if c.env.Before != nil {
		before = c.upgrade.record.Want
	}
	rec, err := c.readBack(ctx, before, "upgrade")
	if err != nil {
		return err
	}
	var state *change.Reading
	if c.upgrade != nil {
		state = &change.Reading{Env: c.env, Own: rec.Objects, Before: c.upgrade.state}
	}
	var losses *intact.Losses
	c.captured, err = c.capture(ctx, rec.Objects, func() compare.Look {
		losses = intact.NewLosses(c.gated.State.Items, c.env.Before != nil)
		losses.Operators = c.awaited
		return losses.Look
	}, state)
	if err == nil && c.upgrade != nil {
		c.captured.Before, c.upgrade.after, c.upgrade.upgraded = c.upgrade.before, state.State, rec
	}
	if err != nil {
		return err
	}
	judged := c.judge(ctx, losses)
	if judged == nil {
		var said []result.Finding
		said, judged = intact.Denied(ctx, c.env.Clients, &c.env.Bundle.Expectation, c.gated.Answered, c.rule)
		c.warn(said...)
	}
	if err := c.rule(c.captured.Fought(c.plan.Deployer.Name())); err != nil { // which explains what is not live
		return err
	}
	return judged
}

// judge says what is not live, and what the API server warns of. Reasons: DEPLOY_FAILED,
// CLUSTER_FAILED.
func (c *cellRun) judge(ctx context.Context, losses *intact.Losses) error {
	run := intact.Run{Env: c.env, Items: c.gated.State.Items, Unsteady: daytwo.IsUnsteady(c.env.Bundle), Again: c.renderedAgain, Rule: c.rule}
	about := losses.About(&c.env.Bundle.Expectation, run.RunsPrograms(), c.warnedOf())
	err := c.patiently(ctx, "a dry run of the rendered objects", func(ctx context.Context) (err error) {
		run.Answers, err = intact.Ask(ctx, c.env.Clients, c.env.Bundle.Expectation.Objects, about)
		return reason.Wrap(reason.ClusterFailed, err)
	})
	var untried []string
	if foreign := c.env.Bundle.Foreign; err == nil && foreign != nil {
		untried, err = intact.SwitchedOff(ctx, c.env.Clients, foreign.SwitchedOff)
		err = c.rule(err)
		c.result.NotVerified = append(c.result.NotVerified, untried...)
	}
	c.sayWarnings()
	if err != nil {
		return err
	}
	if c.byArgo() && !c.drift {
		run.Refreshed = daytwo.Refreshed
	}
	said, err := run.Do(ctx, losses)
	c.result.Notes = append(c.result.Notes, said.Notes...)
	c.result.NotVerified = append(c.result.NotVerified, said.NotVerified...)
	c.warn(said.Warnings...)
	return err
}

// warnedOf are the objects of which it is known what the API server warned of when they were created: all that this program has
// created itself, on a first installation, and what another lane of the recipe has created likewise.
func (c *cellRun) warnedOf() map[result.Ref]bool {
	e, heard := &c.env.Bundle.Expectation, c.plan.heard()
	switch {
	case c.env.Before != nil:
		return nil
	case len(c.lane.Controllers()) > 0:
		return heard.Tell(e, c.env.Clients.Warnings)
	}
	heard.Keep(e, c.env.Clients.Warnings)
	all := map[result.Ref]bool{}
	for i := range e.Objects {
		all[e.Objects[i].Ref()] = true
	}
	return all
}

// readBack compares the deployer's records with the bundle. before are those of the bundle that ran
// before; what stays behind of it after what (an upgrade, a rollback) is a warning.
func (c *cellRun) readBack(ctx context.Context, before []lane.Delivery, what string) (lane.Record, error) {
	var rec lane.Record
	var left []result.Finding
	err := c.patiently(ctx, "the deployer's records to be as the bundle says", func(ctx context.Context) (err error) {
		if rec, err = c.lane.ReadBack(ctx, c.env); err != nil {
			return reason.Wrap(reason.ClusterFailed, fmt.Errorf("read back what was delivered: %w", err))
		}
		rec, left = daytwo.Left(what, c.lane, rec, before)
		if f := lane.Mismatch(rec.Want, rec.Got); f != nil {
			return &reason.Error{Reason: reason.DeployFailed, Err: f}
		}
		return nil
	})
	c.warn(left...)
	return rec, err
}

// capture reads the bundle's objects, and the deployer's own. looks, unless nil, returns what is
// called with each of them, for each attempt.
func (c *cellRun) capture(ctx context.Context, own []lane.Object, looks func() compare.Look, state *change.Reading) (*compare.Captured, error) {
	var taken *compare.Captured
	if err := c.patiently(ctx, "the delivered objects", func(ctx context.Context) (err error) {
		var see compare.Look
		if looks != nil {
			see = looks()
		}
		if taken, err = compare.Capture(ctx, c.env, own, see, state.Also()); err == nil {
			err = state.Done(ctx)
		}
		if err != nil {
			return reason.Wrap(reason.ClusterFailed, fmt.Errorf("read the delivered objects: %w", err))
		}
		return nil
	}); err != nil {
		return nil, err
	}
	in := c.env.Input
	taken.Render = func(ctx context.Context) ([]bundle.Object, error) {
		e, err := renderAgain(ctx, c.plan, in)
		return e.Objects, err
	}
	taken.Releases = c.env.Bundle.Expectation.Releases
	taken.RenderAs = func(ctx context.Context, names map[string]string) ([]bundle.Object, error) {
		e, err := renderAgain(ctx, c.plan, in.Named(names))
		return slices.Concat(e.Objects, e.Made), err
	}
	return taken, nil
}

// runDrift delivers the bundle a second time. Reason: NEVER_SETTLES.
func (c *cellRun) runDrift(ctx context.Context) error {
	if err := c.fill(ctx, daytwo.Bundles{Before: c.env.Bundle, Now: c.env.Bundle}); err != nil {
		return err
	}
	_, sync := c.lane.Budget(c.budgets())
	run := daytwo.SecondDelivery{
		Env: c.env, Lane: c.lane, Budget: c.Deadline.Shrink(sync), Again: c.renderedAgain, Rule: c.rule,
		Capture: func(ctx context.Context) (*compare.Captured, error) {
			var rec lane.Record
			if err := c.patiently(ctx, "the deployer's records", func(ctx context.Context) (err error) {
				rec, err = c.lane.ReadBack(ctx, c.env)
				return reason.Wrap(reason.ClusterFailed, err)
			}); err != nil {
				return nil, err
			}
			return c.capture(ctx, rec.Objects, nil, nil)
		},
		Gate: func(ctx context.Context) error {
			_, err := c.newGate(c.gateLane()).Pass(ctx)
			return err
		},
	}
	note, err := run.Do(ctx)
	if note != "" {
		c.result.Notes = append(c.result.Notes, note)
	}
	if failed := c.judgeSecond(&facts.Delivery{What: "the second delivery", Now: c.env.Bundle, Replaced: run.Hooks}); err == nil {
		err = failed
	}
	if err != nil && reason.Of(err) != reason.NeverSettles {
		return err
	}
	if taken := c.taken(ctx, "the second delivery", reason.NeverSettles); taken != nil {
		return taken // it says more of the same Secret
	}
	return err
}

// runRemoval undeploys the bundle, after all else. Reason: LEFT_BEHIND.
func (c *cellRun) runRemoval(ctx context.Context) error {
	c.stopObserving() // pods that are removed are no placement
	_, sync := c.lane.Budget(c.budgets())
	run := daytwo.Removal{Env: c.env, Lane: c.lane, Budget: c.Deadline.Shrink(sync), Rule: c.rule}
	lines, warnings, err := run.Do(ctx)
	c.result.LeftBehind = lines
	c.warn(warnings...)
	return err
}

// patiently retries until there is no error, or until one has lasted. An API server that restarts
// answers again, and an Application whose next sync has just started has no revision for a moment.
func (c *cellRun) patiently(ctx context.Context, what string, try func(context.Context) error) error {
	var last error
	err := wait.For(ctx, what, wait.Options{Budget: lane.SuspectFor, Interval: time.Second, Changed: c.env.Tell}, func(ctx context.Context) wait.Result {
		err := try(ctx)
		if err == nil {
			return wait.Done()
		}
		if ctx.Err() == nil || last == nil { // else ctx's own error, which must not hide the last real one
			last = err
		}
		return wait.NotYet("%s", result.FirstLine(err.Error()))
	})
	if wait.IsTimeout(err) {
		return last
	}
	return err
}

// renderedAgain is what the charts of the cell's bundle render when they are rendered once more.
func (c *cellRun) renderedAgain(ctx context.Context) ([]bundle.Object, error) {
	return c.second.Of(c.env.Bundle, func() (bundle.Expectation, error) { return renderAgain(ctx, c.plan, c.env.Input) })
}

// renderAgain renders a cell's charts once more. Values that differ between two renderings are
// generated by the chart.
func renderAgain(ctx context.Context, p Plan, in bundle.Input) (bundle.Expectation, error) {
	in, err := bundle.Prepare(ctx, in)
	if err != nil {
		return bundle.Expectation{}, fmt.Errorf("render %s again: %w", p.Cell.Recipe, err)
	}
	b, err := p.Deployer.Bundle(ctx, in)
	if err != nil {
		return bundle.Expectation{}, fmt.Errorf("render %s again: %w", p.Cell.Recipe, err)
	}
	return b.Expectation, nil
}
