package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/change"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/daytwo"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
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
	// Commit is that of a Git ref; empty otherwise.
	Commit string
	Inputs
	// Bundle, if set, gives what runs before a cell's upgrade as a bundle, in place of recipes.
	Bundle func(context.Context, result.Cell, bundle.Deployer) (BaseBundle, error)
	// Left says why a recipe is not upgraded; empty if it is. Nil: every recipe is.
	Left func(recipe string) (why string, err error)
	// LeaveOut leaves apps out of what runs before, and returns those of it that depend on them; nil where that cannot be done.
	LeaveOut func(ctx context.Context, apps []string) (dependents []string, err error)
	// Steps are what a person does before an upgrade, and accepts after it; nil for nothing.
	Steps *daytwo.Steps
}

// StepsOf reads the steps of a file or, if that is empty, those that are in a directory; nil without either.
func StepsOf(file, beside string) (*daytwo.Steps, error) { return daytwo.StepsOf(file, beside) }

// accepted are the differences that the user accepts of an upgrade.
func (f *From) accepted(recipe string, releases []bundle.Release) ([]compare.Accepted, []string) {
	if f == nil {
		return nil, nil
	}
	return f.Steps.Accepted(recipe, releases)
}

// Unused are the differences that the user accepts and no upgrade had.
func (f *From) Unused() []string {
	if f == nil {
		return nil
	}
	return f.Steps.Unused()
}

// BaseBundle is a bundle that runs before an upgrade.
type BaseBundle struct {
	Bundler Bundler
	// Input has the bundle's recipe, its components and its replacement for generated charts.
	Input bundle.Input
	// Charts are those that an earlier run recorded of it; none if no run did.
	Charts []result.Chart
	Notes  []string
}

// base is the plan of what runs before.
type base struct {
	name      string
	title     string // with the commit
	input     bundle.Input
	rendering *rendering
	bundler   Bundler
	recorded  []result.Chart // what an earlier run rendered; none if it is not known
	steps     *daytwo.Steps
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
	before    *compare.Captured // its objects
	// state and after are the cluster with the old bundle, and after the upgrade.
	state, after *change.State
	// failing makes what runs before fail; nil unless that is the cell's sequence. past says what is left of it, and failed are
	// the Jobs that have failed, spent those of them that no upgrade runs again.
	failing *daytwo.Failing
	past    []string
	failed  map[types.UID]bool
	spent   map[types.UID]bool
	tries   map[string]string // those that failed, by the item's ID
}

// PlanUpgrades returns a plan for the upgrade of each of the plans' cells. An old recipe that cannot
// be resolved is an error: it would be a red base.
func (r *Runner) PlanUpgrades(name string, plans []Plan) ([]Plan, error) {
	if r.From == nil {
		return nil, nil
	}
	if r.From.Left != nil {
		if why, err := r.From.Left(name); err != nil || why != "" {
			return nil, err
		}
	}
	before, err := r.planBase(name)
	if err != nil {
		return nil, fmt.Errorf("--from %s: what runs before: %w", r.From.Name, err)
	}
	var upgrades []Plan
	for _, p := range plans {
		b := &base{r.From.Name, r.From.Title, before.input, before.rendering, before.bundler, nil, r.From.Steps}
		notes := before.notes
		if r.From.Bundle != nil {
			given, err := r.From.Bundle(context.Background(), p.Cell, p.Deployer)
			if err != nil {
				return nil, err
			}
			b.input, b.bundler, b.recorded, notes = r.described(name, given.Input), given.Bundler, given.Charts, given.Notes
		}
		b.input.Helm = p.input.Helm // what is asked for is asked for both
		if err := daytwo.SameRecipe(r.From.Name, p.Cell.Recipe, b.input.Recipe, p.input.Recipe); err != nil {
			return nil, err
		}
		if err := sameRoots(r.From.Name, p.Deployer.Name(), b.input, p.input); err != nil {
			return nil, err
		}
		p.Cell.From, p.base = r.From.Name, b
		p.notes = append(slices.Clone(p.notes), notes...)
		p.skip = notUpgraded(p.Deployer.Name())
		for _, sequence := range slices.Concat([]string{""}, r.Sequences) {
			r.planned++
			p.number, p.Cell.Sequence = r.planned, sequence
			upgrades = append(upgrades, p)
		}
	}
	return upgrades, nil
}

// sameRoots refuses an upgrade in a lane of Argo CD where one bundle has a root for each class and the other one root
// for all: the old root stays, and both write the Applications in turn, without end.
func sameRoots(from, deployer string, old, next bundle.Input) error {
	if !bundle.ByArgoCD(deployer) || (old.Split == nil) == (next.Split == nil) {
		return nil
	}
	roots := func(in bundle.Input) string {
		if in.Split == nil {
			return "one root Application for all components"
		}
		return "a root Application for each of the classes core and ops"
	}
	return reason.New(reason.Usage, "--from %s: it has %s, and what is delivered has %s. Argo CD would write each Application from both without end. Compare two of one kind (--split, or a bundle that was made with it, on both sides). "+
		"In a cluster, delete the old root without what it has made first: argocd app delete NAME --cascade=false", from, roots(old), roots(next))
}

// notUpgraded says why a deployer's cells are not upgraded; empty if they are.
func notUpgraded(deployer string) string {
	if deployer != bundle.ArgoCDAppSet {
		return ""
	}
	return "no upgrade runs through " + deployer + ": the policy that keeps a recipe from configuring Argo CD lets nothing change the ApplicationSet and its AppProject once they are there. The difference is that of the two renderings"
}

// planBase plans the old recipe; where bundles run before, there is none.
func (r *Runner) planBase(name string) (Plan, error) {
	if r.From.Bundle != nil {
		return Plan{rendering: &rendering{}}, nil
	}
	old := *r
	old.Inputs, old.From, old.Verification = r.From.Inputs, nil, Verification{}
	old.Split = r.Split
	old.Nodes, old.Profiles, old.Health, old.Existing = r.Nodes, r.Profiles, r.Health, r.Existing
	p, err := old.planRecipe(name)
	return p, errors.Join(err, p.unfit)
}

// described adds to the input of a bundle what the old charts and this platform say.
func (r *Runner) described(name string, in bundle.Input) bundle.Input {
	on := r.PlatformOf(name)
	in.Charts, in.KubeVersion, in.APIs, in.PlainHTTP = r.From.Charts, on.KubeVersion(), r.existingAPIs(on.APIs()), true
	return in
}

// otherCharts rejects an old bundle whose charts are not those of the run that recorded it: what is
// upgraded would not be what ran.
func (b *base) otherCharts(now []result.Chart) error {
	for _, was := range b.recorded {
		i := slices.IndexFunc(now, func(c result.Chart) bool { return c.Release == was.Release })
		if i >= 0 && was.From != "" && now[i].From != "" && now[i].Digest != was.Digest {
			return fmt.Errorf("the chart %s %s of %s has other files than in the run that kept the bundle, where it came from %s (%s) and now from %s (%s): pass the --charts of that run, or give its recipes", was.Name, was.Version, was.Component, was.From, was.Digest, now[i].From, now[i].Digest)
		}
	}
	return nil
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

func (b *base) bundlerOf() Bundler { return bundlerOr(b.bundler, b.rendering) }

// makeBase renders what runs before.
func (c *cellRun) makeBase(ctx context.Context) error {
	b := c.plan.base
	in, made, _, err := b.bundlerOf().Bundle(ctx, c.plan.Deployer, c.located(b.input), filepath.Join(c.dir, "bundler-before"))
	if err != nil {
		return daytwo.BaseFailed(b.name, reason.Wrap(reason.BundleFailed, err))
	}
	c.result.RenderedBefore = change.ChartsOf(made)
	if err := b.otherCharts(c.result.RenderedBefore); err != nil {
		return daytwo.BaseFailed(b.name, reason.Wrap(reason.BundleFailed, err))
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
	deliver, verify := c.deliverUpgrade, c.verifyUpgrade
	if c.plan.Cell.Sequence == result.SequenceRemoved {
		deliver, verify = c.deliverAfterRemoval, c.verifyAfterRemoval
	}
	return append(c.baseSteps(),
		step{"Delivering the upgrade", "upgrade", c.ofUpgrade(deliver), false},
		step{"Waiting for the upgrade", "sync", c.ofUpgrade(c.gate), false},
		step{"Reading back what was delivered", "verify", c.ofUpgrade(verify), false},
	)
}

// ofBase makes what goes wrong with the old bundle no verdict on the upgrade.
func (c *cellRun) ofBase(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return daytwo.BaseFailed(c.plan.base.name, do(ctx)) }
}

// ofUpgrade says of what the deployer or the API server rejects that it was the upgrade, and what
// that has lost.
func (c *cellRun) ofUpgrade(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := daytwo.Failed(c.arrival(), do(ctx), c.bundles(), c.lastView())
		if c.plan.Cell.Sequence != result.SequenceRemoved { // else it has lost all on purpose
			err = c.lost(ctx, c.arrival(), err, c.upgrade.state)
		}
		return c.recalled(err)
	}
}

// lost adds to an error what the delivery has deleted. That can be ignored where nothing else has failed.
func (c *cellRun) lost(ctx context.Context, what string, err error, was *change.State) error {
	lost := daytwo.Lost(ctx, what, err, c.env, c.bundles(), was.UID)
	if err == nil {
		return c.rule(lost)
	}
	return lost
}

// bundles are the one that runs and the one that is delivered.
func (c *cellRun) bundles() daytwo.Bundles {
	if c.plan.Cell.Sequence == result.SequenceRemoved && c.upgrade != nil {
		return daytwo.Bundles{Before: c.upgrade.old.bundle, Now: c.env.Bundle}
	}
	return daytwo.Bundles{Before: c.env.Before, Now: c.env.Bundle}
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
	state := &change.Reading{Env: c.env, Own: rec.Objects}
	if c.upgrade.before, err = c.capture(ctx, rec.Objects, nil, state); err != nil {
		return err
	}
	c.upgrade.state = state.State
	if c.plan.Cell.Sequence == result.SequenceRemoved {
		return nil
	}
	return c.fill(ctx, daytwo.Bundles{Before: c.upgrade.old.bundle, Now: c.upgrade.next.bundle})
}

// fill notes, and plays, what operators write into the bundle's Secrets, as the last step before a
// second delivery.
func (c *cellRun) fill(ctx context.Context, b daytwo.Bundles) error {
	return c.patiently(ctx, "what operators wrote into Secrets", func(ctx context.Context) (err error) {
		if c.filled, err = daytwo.Fill(ctx, c.env, c.lane, b); err == nil {
			c.result.Notes = append(c.result.Notes, c.filled.Played()...)
		}
		return reason.Wrap(reason.ClusterFailed, err)
	})
}

// taken judges what the second delivery left of that. It says which Secrets were filled, once the
// verdict on them is known.
func (c *cellRun) taken(ctx context.Context, what string, code reason.Reason) error {
	filled := c.filled
	c.filled = nil
	c.result.Notes = append(c.result.Notes, filled.Notes()...)
	return c.rule(filled.Taken(ctx, c.env, c.lane, what, code))
}

// verifyUpgrade reads back what was delivered, and what it has changed in the cluster.
func (c *cellRun) verifyUpgrade(ctx context.Context) error {
	what := c.arrival()
	c.bundles().Settled(ctx, c.env)
	if err := c.taken(ctx, what, reason.UpgradeDiverged); err != nil {
		return err
	}
	if err := c.verify(ctx); err != nil {
		return err
	}
	c.result.Change = change.Between(c.upgrade.state, c.upgrade.after, change.Options{From: c.plan.base.title})
	return c.aftermath(ctx, daytwo.Arrived{What: what, Was: c.upgrade.state.UID, Change: c.result.Change})
}

// aftermath judges what a second delivery has replaced, removed and left.
func (c *cellRun) aftermath(ctx context.Context, a daytwo.Arrived) error {
	a.Env, a.Lane, a.Judge, a.Rule = c.env, c.lane, c.judgeSecond, c.rule
	notes, notVerified, err := c.bundles().Aftermath(ctx, a)
	c.result.Notes, c.result.NotVerified = append(c.result.Notes, notes...), append(c.result.NotVerified, notVerified...)
	return err
}

func (c *cellRun) byArgo() bool {
	return slices.Contains(c.lane.Controllers(), infra.ArgoCDControllers)
}

// carry carries out the steps that a person does before the upgrade.
func (c *cellRun) carry(ctx context.Context) error {
	done, err := c.plan.base.steps.Carry(ctx, c.env, c.upgrade.next.bundle, c.plan.Cell)
	c.result.Overrides = append(c.result.Overrides, done...)
	return err
}

// deliverUpgrade carries out the user's steps, does what hooks before an upgrade would, whose pods are simulated, and delivers
// the new bundle.
func (c *cellRun) deliverUpgrade(ctx context.Context) error {
	if err := c.carry(ctx); err != nil {
		return err
	}
	hooks := daytwo.Bundles{Before: c.upgrade.old.bundle, Now: c.upgrade.next.bundle}
	cleared, err := hooks.Clear(ctx, c.env, c.lane.Order(c.env))
	c.result.Notes = append(c.result.Notes, cleared...)
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	return c.deliver(ctx, c.upgrade.next)
}

// deliver publishes another bundle in the place of the one that runs, and delivers it in the
// deployer's own way.
func (c *cellRun) deliver(ctx context.Context, d delivery) error {
	c.env.Before = c.env.Bundle
	c.env.Log.Info("deliver another bundle", "before", c.plan.base.title)
	if err := c.use(d); err != nil {
		return err
	}
	c.result.Notes = append(c.result.Notes, c.bundles().Outlived(c.env, c.byArgo())...)
	if err := c.judgeRendered(d.bundle == c.upgrade.next.bundle); err != nil {
		return err
	}
	if err := c.judgeServed(ctx); err != nil {
		return err
	}
	if err := c.torn(ctx); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	if err := c.definitions(ctx); err != nil {
		return err
	}
	if failing := c.upgrade.failing; failing != nil {
		c.upgrade.failing = nil
		c.upgrade.tries = daytwo.FailedTries(ctx, c.env, c.lane)
		if err := failing.End(ctx); err != nil { // as late as this: some deployers try again by themselves
			return err
		}
	}
	return c.lane.Deploy(ctx, c.env)
}

// definitions does what hook Jobs and scripts do that bring a chart's crds/ up to date, where nothing
// else does: Argo CD and Flux apply them.
func (c *cellRun) definitions(ctx context.Context) error {
	if slices.ContainsFunc(c.lane.Controllers(), func(kind infra.ControllerKind) bool { return kind != infra.HelmfileProgram }) {
		return nil
	}
	return c.patiently(ctx, "the definitions that hook Jobs write", func(ctx context.Context) error {
		notes, err := c.bundles().Definitions(ctx, c.env)
		if err == nil {
			c.result.Notes = append(c.result.Notes, notes...)
		}
		return err
	})
}

// gateLane is the lane as the gate sees it: after an upgrade, its objects count as ready only once
// they report what was delivered last.
func (c *cellRun) gateLane() lane.Lane {
	if c.env.Before == nil {
		return c.lane
	}
	was := c.upgrade.state
	if c.upgrade.after != nil { // it goes back
		was = c.upgrade.after
	}
	return &daytwo.Lane{Lane: c.lane, Before: c.upgrade.record.Want, Bundles: c.bundles(), Was: was.UID, Failed: c.upgrade.tries}
}
