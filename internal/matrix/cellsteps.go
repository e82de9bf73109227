package matrix

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/change"
	"github.com/nvidia/aicr-action/internal/matrix/daytwo"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/intact"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
)

// makeBundle renders the bundle. It runs before any process is started, so that faults in charts
// and values are reported first.
func (c *cellRun) makeBundle(ctx context.Context) error {
	if c.plan.unfit != nil {
		return c.plan.unfit
	}
	if c.plan.base != nil {
		if err := c.makeBase(ctx); err != nil {
			return err
		}
	}
	in, b, unverified, err := c.plan.bundlerOf().Bundle(ctx, c.plan.Deployer, c.located(c.plan.input), filepath.Join(c.dir, "bundler"))
	if err != nil {
		if b != nil && b.Foreign != nil {
			c.refused = b.Foreign.Original
		}
		return reason.Wrap(reason.BundleFailed, err)
	}
	c.env.Input, c.env.Bundle = in, b
	if err := checkGroups(c.plan.nodes, b.Expectation.Objects); err != nil {
		return err
	}
	if b.Foreign != nil {
		if b.Foreign.Maker != "" {
			c.result.Notes = append(c.result.Notes, "bundle: not made by this program; "+b.Foreign.Maker)
		}
		c.result.Notes = append(c.result.Notes, b.Foreign.Notes...)
		c.result.AnyNode = b.Foreign.AnyNode
	}
	if err := c.deliversByHelm(ctx, b); err != nil {
		return err
	}
	c.result.NotVerified = slices.Concat(c.result.NotVerified, unverified, b.Expectation.NotVerified)
	c.result.Components = len(b.Expectation.Releases)
	c.result.Rendered = change.ChartsOf(b)
	c.result.ChartSources = change.ChartSources(b.Expectation.Releases, c.charts)
	c.result.Overrides = append(c.result.Overrides, b.Expectation.Overrides...)
	c.result.Warnings = append(c.result.Warnings, b.Expectation.Warnings...)
	c.result.StandIns = append(c.result.StandIns, c.platform.Simulates(b.Expectation.Objects)...)
	if p, ok := c.platform.(infra.Foreigner); ok {
		for _, program := range p.ForeignPrograms(c.plan.needs()...) {
			c.result.Notes = append(c.result.Notes, program.Differs())
		}
	}
	if c.upgrade != nil {
		c.upgrade.next = delivery{in, b}
		return c.use(c.upgrade.old)
	}
	if err := c.use(delivery{in, b}); err != nil {
		return err
	}
	return c.judgeRendered(true)
}

// deliversByHelm records by which Helm a bundle is delivered, if it is. What another program has made may be for
// another Helm than its recipe, so that helmfile's is compiled here if it was not before. Reasons:
// STACK_BUILD_FAILED, TOOLCHAIN_MISSING.
func (c *cellRun) deliversByHelm(ctx context.Context, b *bundle.Bundle) error {
	deployer := c.plan.Deployer.Name()
	if !bundle.RunsHelm(deployer) {
		return nil
	}
	c.result.Helm = b.Helm
	runs := fmt.Sprintf("helm: Helm %d delivers", b.Helm)
	if p, ok := c.platform.(infra.HelmRunner); ok && !bundle.ByHelm(deployer) {
		runs = fmt.Sprintf("helm: %s runs Helm %s", deployer, p.HelmVersion(b.Helm))
	}
	usual := c.plan.input.Helm == 0 && c.plan.input.Given == nil // by the recipe's form, as in every cell of such a recipe
	switch {
	case b.HelmWhy != "" && usual:
		c.result.Controllers = append(c.result.Controllers, runs+": "+b.HelmWhy)
	case b.HelmWhy != "":
		c.result.Notes = append(c.result.Notes, runs+": "+b.HelmWhy)
	case !bundle.ByHelm(deployer):
		c.result.Notes = append(c.result.Notes, runs)
	}
	helm4 := b.Helm == 4 || c.upgrade != nil && c.upgrade.old.bundle.Helm == 4
	if bundle.ByHelm(deployer) || !helm4 || slices.Contains(c.plan.needs(), infra.Helm4Program) {
		return nil
	}
	return c.platform.Needs(ctx, append(c.plan.needs(), infra.Helm4Program)...)
}

// judgeRendered judges what is delivered next by what needs no cluster: a first installation before it has one, what runs
// before an upgrade as it is deployed, so that its faults are BASE_FAILED, and the upgrade before it is delivered. say adds what
// is no fault to the result; it is false of what ran before, whether that comes first or comes back.
func (c *cellRun) judgeRendered(say bool) error {
	var d *facts.Delivery
	if c.env.Before != nil {
		d = &facts.Delivery{What: daytwo.UpgradeFrom(c.plan.base.name), Before: c.env.Before, Now: c.env.Bundle}
		if !say {
			d.What, d.Back = daytwo.RollbackTo(c.plan.base.name), true
		}
	}
	r, err := judgeRendered(c.bench, c.env.Bundle, c.env.Input.Components, c.plan, c.lane.Order(c.env), c.env.Furnished, d)
	if say {
		c.say(r)
	}
	if err != nil {
		return err
	}
	return r.Err()
}

// judgeRendered is what checks find without a cluster.
func judgeRendered(bench *judge.Bench, b *bundle.Bundle, components []recipe.Component, p Plan, order lane.Order, furnished bool, later *facts.Delivery) (judge.Report, error) {
	var nodes []corev1.Node
	for _, n := range simulate.MostNodes(p.nodes) {
		nodes = append(nodes, *n)
	}
	x := facts.New(&b.Expectation, components, nodes, nil)
	x.Again, x.Delivery, x.Version, x.Furnished = later != nil, later, p.input.KubeVersion, furnished
	return bench.Report(x, p.Cell.Recipe, order, judge.Rendered)
}

// located returns the input of a bundle in the cell's registry, or on its Git server.
func (c *cellRun) located(in bundle.Input) bundle.Input {
	_, git := c.env.Registry.GitHosts()
	return in.InRegistry(c.env.Registry.PullHost(), git, c.plan.Deployer.Name())
}

func (c *cellRun) startCluster(ctx context.Context) error {
	defer c.refresh().Begin(ctx, c.env.Bundle)()
	c.result.Sandbox = c.env.Cluster.Sandbox()
	operators, err := c.env.Cluster.RunOperators(ctx, c.env.Bundle.Expectation.Objects)
	c.result.Notes = append(c.result.Notes, operators.Lines...)
	c.awaited, c.own = operators.Awaited, operators.Jobs
	if err != nil {
		return err
	}
	c.played = c.playedSchedulers(c.env.Cluster.Runs)
	c.env.Cluster.PlaySchedulers(c.played)
	err = c.env.Cluster.Up(ctx)
	c.env.Clients = c.env.Cluster.Clients()
	if err == nil {
		c.observe(ctx)
	}
	return err
}

func (c *cellRun) startControllers(ctx context.Context) error {
	for _, kind := range c.lane.Controllers() {
		c.result.Controllers = append(c.result.Controllers, c.env.Cluster.Proxies(kind)...)
	}
	return c.lane.Install(ctx, c.env)
}

func (c *cellRun) publish(ctx context.Context) error {
	if len(c.lane.Controllers()) > 0 && !c.env.Input.Direct { // they pull from the cell's registry
		for _, ch := range c.env.Bundle.Charts {
			pushed, err := publish.PushChart(ctx, ch, c.env.PushURL(c.env.Input.ChartRepository), publish.Own())
			if err != nil {
				return reason.New(reason.PublishFailed, "push chart %s %s to the cell's registry: %w", ch.Name(), ch.Metadata.Version, err)
			}
			c.env.Published = append(c.env.Published, pushed)
		}
	}
	pushed, err := c.lane.Publish(ctx, c.env)
	c.env.Published = append(c.env.Published, pushed...)
	return err
}

func (c *cellRun) deploy(ctx context.Context) error {
	c.deploys()
	if c.plan.base != nil {
		if err := c.judgeRendered(false); err != nil {
			return err
		}
	}
	if err := c.judgeServed(ctx); err != nil {
		return err
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.torn(ctx); err != nil {
		return err
	}
	return c.lane.Deploy(ctx, c.env)
}

// deploys notes that the first delivery begins.
func (c *cellRun) deploys() {
	c.deployed = time.Now()
	c.result.ReadyAfter = c.deployed.Sub(c.turn.at)
	if c.plan.ready != nil {
		c.plan.ready()
	}
}

// prepare creates what operators make before anything of the bundle is there.
func (c *cellRun) prepare(ctx context.Context) error {
	lines, err := facts.CreateClasses(ctx, &c.env.Bundle.Expectation, c.env.Clients.Dynamic)
	c.result.StandIns = append(c.result.StandIns, lines...)
	return err
}

// judgeServed judges what is delivered next by what the API server has by itself. Reasons: those of checks, CLUSTER_FAILED.
func (c *cellRun) judgeServed(ctx context.Context) error {
	have, err := facts.ReadServed(ctx, c.env.Clients.Kube)
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	x := facts.New(&c.env.Bundle.Expectation, c.env.Input.Components, nil, have)
	x.Again = c.env.Before != nil
	if !x.Again && len(c.existing) == 0 { // else what is there already, or a policy of it, could decide
		if x.Answers, err = intact.AskBefore(ctx, c.env.Clients, &c.env.Bundle.Expectation); err != nil {
			return reason.Wrap(reason.ClusterFailed, err)
		}
	}
	r, err := c.bench.Report(x, c.env.Cell.Recipe, c.lane.Order(c.env), judge.Served)
	c.say(r)
	if err != nil {
		return err
	}
	return r.Err()
}

func (c *cellRun) refresh() daytwo.HardRefresh {
	return daytwo.HardRefresh{Heals: c.lane.Order(c.env).Heals, Delivered: c.drift, Again: c.renderedAgain, Rule: c.rule}
}

// torn finds what a hard refresh of Argo CD would tear apart. Reasons: NEVER_SETTLES, INTERNAL.
func (c *cellRun) torn(ctx context.Context) error {
	found, err := c.refresh().Check(ctx, c.env.Bundle, c.env.Input.Components)
	c.warn(found...)
	return err
}

func (c *cellRun) gate(ctx context.Context) error {
	out, err := c.newGate(c.gateLane()).Pass(ctx)
	c.result.Placement = observe.PlacementOf(c.env.Bundle.Expectation.Workloads, c.gated.View)
	c.result.Spans = observe.SpansOf(c.env.Bundle.Expectation.Workloads, c.gated.View, c.turn.at)
	c.result.Pods = out.Pods
	c.result.Notes = append(c.result.Notes, out.Notes...)
	c.say(judge.Report{Notes: out.NotVerified, Warnings: out.Warnings, Ignored: out.Ignored, Findings: out.Findings})
	if err != nil { // else with those of the dry run
		c.sayWarnings()
	}
	if c.env.Before == nil { // else they began before it
		c.result.OutOfOrder = lane.EarlyStarts(c.gated.State.Items)
	}
	uses, unanswered := gate.HealthAnswers(c.env.Bundle.Expectation.Objects, c.health, c.platform.Plays, c.awaited...)
	c.result.HealthPolicy = uses
	c.result.Notes = append(c.result.Notes, unanswered...)
	if err == nil {
		err = c.lane.Unchanged(ctx)
	}
	return err
}

// sayWarnings adds the API server's warnings to the result.
func (c *cellRun) sayWarnings() {
	c.warn(intact.ServerWarnings(c.env.Bundle, c.env.Input.Components, c.env.Clients.Warnings.Grouped(lane.Deliverers(&c.env.Bundle.Expectation)...))...)
}

// newGate returns a gate, whose last poll will be among the debug artifacts.
func (c *cellRun) newGate(l lane.Lane) *gate.Gate {
	c.gated = gate.New(c.env, l, c.budgets(), c.Deadline, c.env.Tell)
	c.gated.Slowness, c.gated.Watches, c.gated.Jobs, c.gated.Awaited, c.gated.Schedulers = c.Slowness, c.watches, c.seenJobs, c.awaited, c.running
	c.gated.Bench, c.gated.Groups = c.bench, simulate.Growing(c.plan.nodes)
	if c.upgrade != nil {
		c.gated.FailedBefore, c.gated.Spent = c.upgrade.failed, c.upgrade.spent
	}
	if runs, ok := c.env.Cluster.(infra.Contested); ok {
		c.gated.Contested = runs.Contested
	}
	return c.gated
}

// budgets returns the runner's budgets, extended for the cell's number of pods and size of
// definitions.
func (c *cellRun) budgets() lane.Budgets {
	pods := facts.RoomPods(&c.env.Bundle.Expectation, simulate.MostNodes(c.plan.nodes))
	return c.Budgets.For(lane.CellSize{Pods: pods, DefinitionBytes: c.env.Bundle.Expectation.DefinitionBytes, MinReady: facts.MinReady(&c.env.Bundle.Expectation)})
}

// runChaos is the last step of a cell that has passed all others. Its outcome is in the result and
// changes no verdict: only the recipe's author knows which failures the recipe must survive. A step
// that could not be done is a warning.
func (c *cellRun) runChaos(ctx context.Context) error {
	runner := &chaos.Runner{Clients: c.env.Clients, Tell: c.env.Tell, Begin: func(name string) func(string) {
		c.env.Log.Info("chaos step", "name", name)
		return func(end string) { c.env.Log.Info("chaos step ended", "name", name, "end", end) }
	}}
	c.result.Chaos = runner.Run(ctx, c.chaos)
	for i := range c.result.Chaos.Steps {
		if s := &c.result.Chaos.Steps[i]; s.Status == result.StepFailed {
			c.result.Warnings = append(c.result.Warnings, fmt.Sprintf("chaos step %s (%s:%d) could not be done: %s", s.Name, c.chaos.File, s.Line, s.Error))
		}
	}
	return ctx.Err()
}
