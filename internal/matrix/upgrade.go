package matrix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/change"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/upgrade"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// From is what runs in each recipe's cluster before the upgrade (--from).
type From struct {
	// Name is the source as the user wrote it.
	Name string
	// Title is Name with the commit of a Git ref.
	Title string
	Inputs
	// Left says why a recipe is not upgraded; empty if it is. Nil: every recipe is.
	Left func(recipe string) (why string, err error)
}

// base is the plan of what runs before.
type base struct {
	name      string
	title     string // with the commit
	input     bundle.Input
	rendering *rendering
	bundler   Bundler
}

// delivery is a bundle with the input that it was made of.
type delivery struct {
	input  bundle.Input
	bundle *bundle.Bundle
}

// upgradeRun is an upgrade cell's two bundles, and what the old one came to.
type upgradeRun struct {
	old, next delivery
	record    lane.Record       // of what ran before the last delivery
	upgraded  lane.Record       // of the new bundle
	own       []lane.Object     // what the deployer counts as its own now
	before    *compare.Captured // its objects
	state     *change.State     // the cluster with it
}

// planUpgrades returns a plan for the upgrade of each of the plans' cells. An old recipe that cannot
// be resolved is an error: it would be a red base.
func (r *Runner) planUpgrades(name string, plans []Plan) ([]Plan, error) {
	if r.From == nil {
		return nil, nil
	}
	if r.From.Left != nil {
		if why, err := r.From.Left(name); err != nil || why != "" {
			return nil, err
		}
	}
	old := *r
	old.Inputs, old.From, old.Verification = r.From.Inputs, nil, Verification{}
	old.Nodes, old.Profiles, old.Health = r.Nodes, r.Profiles, r.Health
	before, err := old.planRecipe(name)
	if err != nil {
		return nil, fmt.Errorf("--from %s: what runs before: %w", r.From.Name, err)
	}
	var upgrades []Plan
	for _, p := range plans {
		r.planned++
		p.Cell.From, p.number = r.From.Name, r.planned
		p.base = &base{r.From.Name, r.From.Title, before.input, before.rendering, before.bundler}
		p.notes = append(slices.Clone(p.notes), before.notes...)
		upgrades = append(upgrades, p)
	}
	return upgrades, nil
}

// Before are the plans of what runs before the upgrades among these plans.
func Before(plans []Plan) []Plan {
	var all []Plan
	for _, p := range plans {
		if p.base != nil {
			p.input, p.bundler, p.base = p.base.input, p.base.bundler, nil
			all = append(all, p)
		}
	}
	return all
}

// makeBase renders what runs before.
func (c *cellRun) makeBase(ctx context.Context) error {
	b := c.plan.base
	bundler := b.bundler
	if bundler == nil {
		bundler = ownBundler{b.rendering}
	}
	in, made, _, err := bundler.Bundle(ctx, c.plan.Deployer, c.located(b.input, c.env.Registry.PullHost(), c.plan.Deployer.Name()), filepath.Join(c.dir, "bundler-before"))
	if err != nil {
		return upgrade.BaseFailed(b.name, reason.Wrap(reason.BundleFailed, err))
	}
	c.upgrade = &upgradeRun{old: delivery{in, made}}
	return nil
}

// use makes a bundle the one that is delivered next, and writes its files.
func (c *cellRun) use(d delivery) error {
	c.env.Input, c.env.Bundle, c.env.Published = d.input, d.bundle, nil
	dir := filepath.Join(c.dir, "bundle")
	err := os.RemoveAll(dir)
	if err == nil {
		err = d.bundle.WriteTo(dir, true)
	}
	if err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Internal), fmt.Errorf("write the bundle: %w", err))
	}
	return nil
}

// upgradeSteps are the steps from the deployment of what runs before to the end of the upgrade.
func (c *cellRun) upgradeSteps() []step {
	return []step{
		{"Deploying what runs before", "before-deploy", c.ofBase(c.deploy), false},
		{"Waiting for what runs before", "before-sync", c.ofBase(c.gateBase), false},
		{"Reading what runs before", "before-verify", c.ofBase(c.readBase), false},
		{"Delivering the upgrade", "upgrade", c.ofUpgrade(func(ctx context.Context) error { return c.deliver(ctx, c.upgrade.next) }), false},
		{"Waiting for the upgrade", "sync", c.ofUpgrade(c.gate), false},
		{"Reading back what was delivered", "verify", c.ofUpgrade(c.verifyUpgrade), false},
	}
}

// ofBase makes what goes wrong with the old bundle no verdict on the upgrade.
func (c *cellRun) ofBase(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return upgrade.BaseFailed(c.plan.base.name, do(ctx)) }
}

// ofUpgrade says of what the deployer or the API server rejects that it was the upgrade, and what
// that has lost.
func (c *cellRun) ofUpgrade(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := upgrade.Failed(c.plan.base.name, do(ctx), c.bundles(), c.lastView())
		return upgrade.Lost(ctx, "the upgrade from "+c.plan.base.name, err, c.env, c.bundles(), c.upgrade.state.UID)
	}
}

// bundles are the one that runs and the one that is delivered.
func (c *cellRun) bundles() upgrade.Bundles {
	return upgrade.Bundles{Before: c.env.Before, Now: c.env.Bundle}
}

// lastView is the last poll of the gate; nil before there is one.
func (c *cellRun) lastView() *observe.View {
	if c.gated == nil {
		return nil
	}
	return c.gated.View
}

// gateBase waits until the old bundle is as it promises. What the gate notes is not about the
// change, and is left out.
func (c *cellRun) gateBase(ctx context.Context) error {
	if _, err := c.newGate(c.lane).Pass(ctx); err != nil {
		return err
	}
	return c.lane.Unchanged(ctx)
}

// readBase reads what the old bundle has come to: what is kept from it is the cause of a difference.
func (c *cellRun) readBase(ctx context.Context) error {
	rec, err := c.readBack(ctx, nil, "")
	if err != nil {
		return err
	}
	c.upgrade.record = rec
	if c.upgrade.before, err = c.capture(ctx, rec.Objects); err != nil {
		return err
	}
	if err := c.patiently(ctx, "the state before the upgrade", func(ctx context.Context) (err error) {
		c.upgrade.state, err = change.Take(ctx, c.env, rec.Objects)
		return reason.Wrap(reason.ClusterFailed, err)
	}); err != nil {
		return err
	}
	return c.fill(ctx, upgrade.Bundles{Before: c.upgrade.old.bundle, Now: c.upgrade.next.bundle})
}

// fill notes, and plays, what operators write into the bundle's Secrets, as the last step before a
// second delivery.
func (c *cellRun) fill(ctx context.Context, b upgrade.Bundles) error {
	return c.patiently(ctx, "what operators wrote into Secrets", func(ctx context.Context) (err error) {
		c.filled, err = upgrade.Fill(ctx, c.env, b)
		return reason.Wrap(reason.ClusterFailed, err)
	})
}

// taken judges what the second delivery left of that. It says which Secrets were filled, once the
// verdict on them is known.
func (c *cellRun) taken(ctx context.Context, what string, code reason.Reason) error {
	filled := c.filled
	c.filled = nil
	c.result.Notes = append(c.result.Notes, filled.Notes()...)
	return filled.Taken(ctx, c.env, c.lane, what, code)
}

// verifyUpgrade reads back what was delivered, and what it has changed in the cluster.
func (c *cellRun) verifyUpgrade(ctx context.Context) error {
	what := "the upgrade from " + c.plan.base.name
	if err := c.taken(ctx, what, reason.UpgradeDiverged); err != nil {
		return err
	}
	if err := c.verify(ctx); err != nil {
		return err
	}
	var after *change.State
	err := c.patiently(ctx, "the state after the upgrade", func(ctx context.Context) (err error) {
		after, err = c.upgrade.state.Again(ctx, c.env, c.upgrade.own)
		return reason.Wrap(reason.ClusterFailed, err)
	})
	if err != nil {
		return err
	}
	c.result.Change = change.Between(c.upgrade.state, after, change.Options{From: c.plan.base.title})
	var replaced []result.Ref
	for _, one := range c.result.Change.Components {
		replaced = append(replaced, one.Replaced...)
	}
	c.result.Warnings = append(c.result.Warnings, upgrade.TornDown(c.env.Bundle, replaced, c.byArgo())...)
	if c.byArgo() {
		c.result.Warnings = append(c.result.Warnings, c.bundles().Moving()...)
	}
	return c.bundles().Recreated(what, replaced)
}

func (c *cellRun) byArgo() bool {
	return slices.Contains(c.lane.Controllers(), infra.ArgoCDControllers)
}

// deliver publishes another bundle in the place of the one that runs, and delivers it in the
// deployer's own way.
func (c *cellRun) deliver(ctx context.Context, d delivery) error {
	c.env.Before = c.env.Bundle
	c.env.Log.Info("deliver another bundle", "before", c.plan.base.title)
	if err := c.use(d); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	return c.lane.Deploy(ctx, c.env)
}

// gateLane is the lane as the gate sees it: after an upgrade, its objects count as ready only once
// they report what was delivered last.
func (c *cellRun) gateLane() lane.Lane {
	if c.env.Before == nil {
		return c.lane
	}
	return &upgrade.Lane{Lane: c.lane, Before: c.upgrade.record.Want}
}
