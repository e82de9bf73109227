package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	format "github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// prepared is a run that was found to be possible.
type prepared struct {
	runner  *matrix.Runner
	plans   []matrix.Plan
	skipped []result.Result
	shards  []report.Shard // the one that it is; none if it is not divided
	jobs    []addons.Scheduler
	on      platform.Platform
	remove  func() // nil if nothing has to be removed
}

// close removes what was opened for the run.
func (p *prepared) close() {
	if p.remove != nil {
		p.remove()
	}
}

// prepareRun refuses what can be refused before anything is started. With the reason
// NOTHING_SELECTED all else is valid, but no plans.
func (a *app) prepareRun(ctx context.Context, args []string, f runFlags) (*prepared, error) {
	if err := a.settleApp(ctx, &f); err != nil {
		return nil, err
	}
	if f.bundles.one() != "" {
		if len(f.mixins.names) > 0 {
			return nil, cli.Usagef("--mixin is about recipes, and %s runs without any; leave it out", f.bundles.one())
		}
		return a.prepareNamed(ctx, args, f)
	}
	args, remove, err := f.mixins.compose(a, args, &f.recipes)
	if err != nil {
		return nil, err
	}
	p, err := a.prepareNamed(ctx, args, f)
	if p == nil {
		remove()
		return nil, err
	}
	more := p.remove
	p.remove = func() {
		remove()
		if more != nil {
			more()
		}
	}
	return p, err
}

// prepareNamed is prepareRun of recipes that are there by these names.
func (a *app) prepareNamed(ctx context.Context, args []string, f runFlags) (*prepared, error) {
	valid, err := a.validateFlags(args, &f)
	if err != nil {
		return nil, err
	}
	in, err := a.openInputs(ctx, args, f, valid)
	if err != nil {
		return nil, err
	}
	if in.Store != nil {
		if err := valid.forRecipes(f.deployers, in.Store.Generation()); err != nil {
			return nil, err
		}
	}
	if err := a.chooseVersions(ctx, &f, in); err != nil {
		return nil, err
	}
	if err := f.platform.Pull(ctx, a.App); err != nil {
		return nil, err
	}
	p := &prepared{jobs: f.jobs, on: f.platform.On}
	if p.runner, err = a.choosePlatform(ctx, f, valid, in); err != nil {
		return nil, err
	}
	if f.platform.Kubernetes == floorVersion {
		if err := a.floors(p.runner, f); err != nil {
			return nil, err
		}
	}
	if p.runner.From, p.remove, err = a.openFrom(ctx, args, f, valid); err != nil {
		return p, err
	}
	tell, err := a.leaveUnchanged(ctx, f, p.runner)
	if err != nil {
		return p, err
	}
	if p, err = a.planCells(ctx, args, f, valid, in, p); err == nil {
		err = tell()
	}
	return p, err
}

// validFlags is what the flags and the environment stand for.
type validFlags struct {
	deployers []bundle.Deployer
	budgets   lane.Budgets
	deadline  gate.Deadline
	chaos     *chaos.Plan
	book      *durations.Book
	port      int
	exactPort bool
}

// validateFlags checks the flags against each other and reads what needs no recipe. It fills in the
// flags that others decide.
func (a *app) validateFlags(args []string, f *runFlags) (v validFlags, err error) {
	f.givenCharts = f.charts
	f.usualCharts = a.settleCharts([]string{cli.AutoCharts}, f)
	f.charts = a.settleCharts(f.charts, f)
	if err := f.bundles.settle(a.RecipesDirectory(f.recipes.Recipes)); err != nil {
		return v, err
	}
	if err := f.platform.Check(f.wanted()...); err != nil {
		return v, err
	}
	if err := f.settleHelm(a.Stack.Version); err != nil {
		return v, err
	}
	if v.deployers, err = bundle.ByName(cli.SplitList(f.deployers)); err != nil {
		return v, &reason.Error{Reason: reason.Usage, Err: err}
	}
	if v.budgets, err = lane.BudgetsFromEnv(a.Getenv); err != nil {
		return v, err
	}
	if v.deadline, err = gate.NewDeadline(a.Getenv, f.jobTimeout, time.Now()); err != nil {
		return v, err
	}
	if f.validate != "" {
		if f.phases, err = validate.ParsePhases(f.validate); err != nil {
			return v, cli.Usagef("--validate: %w", err)
		}
	}
	if v.chaos, err = readChaos(*f); err != nil {
		return v, err
	}
	if f.keep && f.reuse != "" {
		return v, cli.Usagef("--keep and --reuse exclude each other: a cell whose verdict is reused has no cluster to keep")
	}
	if v.book, err = openCosts(f.costs); err != nil {
		return v, err
	}
	if f.maxStrikes < 0 {
		return v, cli.Usagef("--max-strikes %d: want 0 (never) or more", f.maxStrikes)
	}
	if v.port, v.exactPort, err = a.RegistryPort(); err != nil {
		return v, err
	}
	if f.plain, err = a.plainControllers(*f); err != nil {
		return v, err
	}
	if f.parallel < 0 || v.exactPort && f.parallel > 1 {
		return v, cli.Usagef("--parallel %d: want 0 (as many as fit) or more, and at most 1 with KWOK_REGISTRY_HOST_PORT, since each cell has a registry of its own", f.parallel)
	}
	if f.ahead < 0 {
		return v, cli.Usagef("--%s %d: want 0 (none) or more", aheadFlag, f.ahead)
	}
	if f.ahead > 0 && v.exactPort {
		return v, cli.Usagef("--%s %d does not work with KWOK_REGISTRY_HOST_PORT: the registry of the running cell has that port", aheadFlag, f.ahead)
	}
	if err := f.bundles.check(args, *f); err != nil {
		return v, err
	}
	if err := f.bundles.existing.read(); err != nil {
		return v, err
	}
	if err := f.before.check(f); err != nil {
		return v, err
	}
	if err := f.ignored.settle(); err != nil {
		return v, err
	}
	f.jobs, err = a.jobControllers(*f)
	return v, err
}

// forRecipes settles which deployers all stands for, which the rules of the recipes decide.
func (v *validFlags) forRecipes(deployers []string, g format.Generation) (err error) {
	v.deployers, err = bundle.ByNameFor(cli.SplitList(deployers), g)
	return reason.Wrap(reason.Usage, err)
}

const aheadFlag = "ahead"

// wanted are the features that the flags ask for besides those of the platform.
func (f *runFlags) wanted() []platform.Wanted {
	return []platform.Wanted{
		{Given: slices.Contains(f.charts, charts.DirectName), Feature: infra.DirectCharts, Text: "--charts " + charts.DirectName},
		{Given: len(f.controllers) > 0, Feature: infra.SidePrograms, Text: "--controller"},
		{Given: f.keep, Feature: infra.KeptClusters, Text: "--keep"},
		{Given: f.parallel > 1, Feature: infra.ParallelCells, Text: fmt.Sprintf("--parallel %d", f.parallel)},
		{Given: f.ahead > 0, Feature: infra.ClustersAhead, Text: fmt.Sprintf("--%s %d", aheadFlag, f.ahead)},
		{Given: f.chaos != "", Feature: infra.Chaos, Text: "--chaos"},
		{Given: f.needsDeliverer(), Feature: infra.Deliverers, Text: "--deployer " + bundle.Helmfile},
	}
}

// needsDeliverer reports whether a deployer is asked for that is a program of this machine.
func (f *runFlags) needsDeliverer() bool {
	return slices.Contains(cli.SplitList(f.deployers), bundle.Helmfile)
}

// runInputs is what a run reads: recipes and charts, or a bundle, and what the simulation is made of.
type runInputs struct {
	matrix.Inputs
	planBundle func(*matrix.Runner) ([]matrix.Plan, error) // nil unless a bundle is run
	stages     []byte
	operators  []simulate.OperatorStage
}

// openInputs opens them.
func (a *app) openInputs(ctx context.Context, args []string, f runFlags, v validFlags) (in runInputs, err error) {
	in.RecipesName = result.RecipesOfBundle(f.bundles.dir) // which needs no recipes
	if f.bundles.app != "" {
		in.RecipesName = result.RecipesOfApp(f.bundles.app)
	}
	if f.bundles.one() == "" {
		open := a.Recipes
		if f.bundles.bundler == execBundler {
			open = a.RecipesOrHeaders
		}
		if in.Store, in.RecipesName, err = open(f.recipes); err != nil {
			return in, err
		}
	}
	in.Helm, in.Split = f.helmMajor, f.bundles.split
	in.DataName, in.Nodes = a.DataDirectory(f.mixins.dataOf(f.recipes.Data)), a.Settings.NodeGroups()
	if in.Bundler, in.planBundle, err = a.openBundler(ctx, args, f, v.deployers[0], in.Store); err != nil {
		return in, err
	}
	if in.Charts, err = a.Charts(f.charts, f.chartsDirectory()); err != nil {
		return in, err
	}
	in.Direct = direct(in.Charts)
	if err := a.openExisting(ctx, f, &in); err != nil {
		return in, err
	}
	if in.Profiles, err = cli.Profiles(f.profiles, a.RecipesDirectory(f.recipes.Recipes)); err != nil {
		return in, err
	}
	if f.bundles.app != "" {
		in.Profiles = untainted(in.Profiles)
		if f.bundles.service == "" { // nobody said which cluster it is for
			in.Profiles = simulate.AssumeLoadBalancer(in.Profiles)
		}
	}
	if existingServes(in.Existing) {
		in.Profiles = simulate.HaveLoadBalancer(in.Profiles)
	}
	if f.bundles.dir != "" { // of a recipe; those that are resolved here assume it themselves
		in.Profiles = simulate.Assume(in.Profiles)
	}
	if in.stages, err = cli.Stages(); err != nil {
		return in, err
	}
	if v.chaos != nil {
		if in.stages, err = platform.WithChaosStages(in.stages); err != nil {
			return in, err
		}
	}
	if len(f.jobs) > 0 || f.probes && f.platform.Mode != programs.Simulated { // a recipe's own controllers may run
		if in.stages, err = withRunningJobs(in.stages); err != nil {
			return in, err
		}
	}
	if in.operators, err = cli.OperatorStages(); err != nil {
		return in, err
	}
	in.Health, err = cli.HealthPolicy()
	return in, err
}

// choosePlatform makes the runner, on the platform that the flags name.
func (a *app) choosePlatform(ctx context.Context, f runFlags, v validFlags, in runInputs) (*matrix.Runner, error) {
	artifacts := f.artifacts
	if artifacts != "" {
		var err error
		if artifacts, err = filepath.Abs(artifacts); err != nil {
			return nil, cli.Usagef("--artifacts %q: %w", f.artifacts, err)
		}
	}
	prefix, err := a.ClusterName("")
	if err != nil {
		return nil, err
	}
	on, err := a.platformOf(f, platformParts{in.stages, in.operators, v.port, v.exactPort})
	if err != nil {
		return nil, err
	}
	if in.Store != nil && in.Store.Generation() == format.July {
		v.budgets = v.budgets.OfToday()
	}
	_, noSnapshot := f.platform.On.Limits.Lacks[infra.Snapshots]
	runner := &matrix.Runner{
		Platform: on, Progress: a.Progress, Inputs: in.Inputs,
		Limits:       matrix.Limits{Budgets: v.budgets, Deadline: v.deadline, MaxStrikes: f.maxStrikes, FailFast: f.failFast, Slowness: host.WatchSpeed(ctx).Slowness},
		Schedule:     matrix.Schedule{Durations: v.book, Memory: host.MemoryAvailable, Ahead: f.ahead},
		Output:       matrix.Output{RunID: cli.NewRunID(), ClusterPrefix: prefix, Artifacts: artifacts, NoSnapshot: f.noSnapshot || noSnapshot, Keep: f.keep},
		Verification: matrix.Verification{Bench: f.ignored.bench, Checks: f.checks, Probes: f.probes, JobControllers: jobsOf(f.jobs), Validate: f.phases, Drift: f.drift, Rollback: f.before.rollback, Sequences: lists.Unique(f.before.sequences), Remove: f.remove, Chaos: v.chaos},
	}
	if a.Verbose {
		runner.Log = a.Stderr
	}
	return runner, nil
}

// planCells resolves the recipes, and leaves out what cannot run here or belongs to another shard.
func (a *app) planCells(ctx context.Context, args []string, f runFlags, v validFlags, in runInputs, p *prepared) (*prepared, error) {
	var real []string // recipes in whose cells controllers of jobs run
	p.runner.Rerun = func(c result.Cell) string {
		given := f.withControllers(slices.Contains(real, c.Recipe))
		if given.platform.Kubernetes == floorVersion {
			given.platform.Kubernetes = minorFor(p.runner, c.Recipe)
		}
		return rerunCommand(cli.Invocation(), a.SettingsFile, c, given)
	}
	var plans []matrix.Plan
	var err error
	if in.planBundle != nil {
		plans, err = in.planBundle(p.runner)
	} else {
		plans, p.skipped, err = a.planRun(ctx, p.runner, v.deployers, args, f)
	}
	if err != nil {
		return p, err
	}
	if real, err = controlled(f, plans); err != nil {
		return p, err
	}
	if f.all || f.tiers != nil {
		kept, without, err := runnable(ctx, p.runner, plans)
		if err != nil {
			return p, err
		}
		plans, p.skipped = kept, append(p.skipped, without...)
	}
	var absent []result.Result
	if plans, absent, err = a.chartsOf(ctx, p.runner, in.Charts, plans, false); err != nil {
		return p, err
	}
	p.skipped = append(p.skipped, absent...)
	if p.runner.From != nil {
		if plans, absent, err = a.chartsOf(ctx, p.runner, p.runner.From.Charts, plans, true); err != nil {
			return p, err
		}
		p.skipped = append(p.skipped, absent...)
	}
	p.plans, p.shards, err = shardOf(f.shard, plans, f.tiers != nil, v.book)
	if err == nil && f.tiers != nil && len(p.plans) == 0 && (len(plans) > 0 || len(p.skipped) == 0) {
		err = nothingSelected(f, len(plans))
	}
	return p, err
}
