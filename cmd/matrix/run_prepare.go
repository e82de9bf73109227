package main

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// prepared is a run that was found to be possible.
type prepared struct {
	runner  *matrix.Runner
	plans   []matrix.Plan
	skipped []result.Result
	shards  []report.Shard // the one that it is; none if it is not divided
	jobs    []addons.Scheduler
}

// prepareRun refuses what can be refused before anything is started. With the reason
// NOTHING_SELECTED all else is valid, but no plans.
func (a *app) prepareRun(ctx context.Context, args []string, f runFlags) (*prepared, error) {
	deployers, err := bundle.ByName(cli.SplitList(f.deployers))
	if err != nil {
		return nil, &reason.Error{Reason: reason.Usage, Err: err}
	}
	budgets, err := lane.BudgetsFromEnv(a.Getenv)
	if err != nil {
		return nil, err
	}
	deadline, err := gate.NewDeadline(a.Getenv, f.jobTimeout, time.Now())
	if err != nil {
		return nil, err
	}
	if f.validate != "" {
		if f.phases, err = validate.ParsePhases(f.validate); err != nil {
			return nil, cli.Usagef("--validate: %w", err)
		}
	}
	plan, err := readChaos(f)
	if err != nil {
		return nil, err
	}
	if f.keep && f.reuse != "" {
		return nil, cli.Usagef("--keep and --reuse exclude each other: a cell whose verdict is reused has no cluster to keep")
	}
	book, err := openCosts(f.costs)
	if err != nil {
		return nil, err
	}
	if f.maxStrikes < 0 {
		return nil, cli.Usagef("--max-strikes %d: want 0 (never) or more", f.maxStrikes)
	}
	port, exact, err := a.RegistryPort()
	if err != nil {
		return nil, err
	}
	if f.plain, err = a.plainControllers(f); err != nil {
		return nil, err
	}
	if f.parallel < 0 || exact && f.parallel > 1 {
		return nil, cli.Usagef("--parallel %d: want 0 (as many as fit) or more, and at most 1 with KWOK_REGISTRY_HOST_PORT, since each cell has a registry of its own", f.parallel)
	}
	if f.platform.reuse && (f.keep || f.parallel > 1) {
		return nil, cli.Usagef("--reuse-cluster excludes --keep and --parallel: the one cluster stays, and its cells run one after another")
	}
	if err := f.platform.check(f.charts); err != nil {
		return nil, err
	}
	if err := f.checkAhead(exact); err != nil {
		return nil, err
	}
	if err := f.bundles.check(args, f); err != nil {
		return nil, err
	}
	if f.jobs, err = a.jobControllers(f); err != nil {
		return nil, err
	}
	var store *recipe.Store // a bundle that is there needs no recipes
	recipesName := "none: the bundle in " + f.bundles.dir
	if f.bundles.dir == "" {
		if store, recipesName, err = a.Recipes(f.recipes); err != nil {
			return nil, err
		}
	}
	bundler, planBundle, err := a.openBundler(ctx, args, f, deployers[0])
	if err != nil {
		return nil, err
	}
	charts, err := a.Charts(f.charts, f.recipes.Recipes)
	if err != nil {
		return nil, err
	}
	profiles, err := cli.Profiles(f.profiles)
	if err != nil {
		return nil, err
	}
	stages, err := cli.Stages()
	if err != nil {
		return nil, err
	}
	if plan != nil {
		if stages, err = withChaosStages(stages); err != nil {
			return nil, err
		}
	}
	if len(f.jobs) > 0 {
		if stages, err = withRunningJobs(stages); err != nil {
			return nil, err
		}
	}
	operators, err := cli.OperatorStages()
	if err != nil {
		return nil, err
	}
	policy, err := cli.HealthPolicy()
	if err != nil {
		return nil, err
	}
	artifacts := f.artifacts
	if artifacts != "" {
		if artifacts, err = filepath.Abs(artifacts); err != nil {
			return nil, cli.Usagef("--artifacts %q: %w", f.artifacts, err)
		}
	}
	prefix, err := a.ClusterName("")
	if err != nil {
		return nil, err
	}
	platform, err := a.platform(f, platformParts{stages, operators, port, exact})
	if err != nil {
		return nil, err
	}
	var real []string // recipes in whose cells controllers of jobs run
	runner := &matrix.Runner{
		Platform: platform, Progress: a.Progress,
		Inputs: matrix.Inputs{
			Store: store, RecipesName: recipesName, DataName: a.DataDirectory(f.recipes.Data), Charts: charts, Direct: direct(charts), Bundler: bundler,
			Profiles: profiles, Nodes: a.Settings.NodeGroups(), Health: policy,
		},
		Limits:       matrix.Limits{Budgets: budgets, Deadline: deadline, MaxStrikes: f.maxStrikes, FailFast: f.failFast, Slowness: host.WatchSpeed(ctx).Slowness},
		Schedule:     matrix.Schedule{Durations: book, Memory: host.MemoryAvailable, Ahead: f.ahead},
		Output:       matrix.Output{RunID: newRunID(), ClusterPrefix: prefix, Artifacts: artifacts, NoSnapshot: f.noSnapshot, Keep: f.keep},
		Verification: matrix.Verification{Checks: f.checks, Probes: f.probes, JobControllers: jobsOf(f.jobs), Validate: f.phases, Chaos: plan},
		Rerun: func(c result.Cell) string {
			return rerunCommand(invocation(), a.SettingsFile, c, f.withControllers(slices.Contains(real, c.Recipe)))
		},
	}
	if a.Verbose {
		runner.Log = a.Stderr
	}
	var plans []matrix.Plan
	var skipped []result.Result
	if planBundle != nil {
		plans, err = planBundle(runner)
	} else {
		plans, skipped, err = a.planRun(ctx, runner, deployers, args, f)
	}
	if err != nil {
		return nil, err
	}
	if real, err = controlled(f, plans); err != nil {
		return nil, err
	}
	if f.all || f.tiers != nil {
		kept, without, err := runnable(ctx, runner, plans)
		if err != nil {
			return nil, err
		}
		plans, skipped = kept, append(skipped, without...)
	}
	if err := a.chartsReady(ctx, charts, plans); err != nil {
		return nil, err
	}
	mine, shards, err := shardOf(f.shard, plans, f.tiers != nil, book)
	if err == nil && f.tiers != nil && len(mine) == 0 && (len(plans) > 0 || len(skipped) == 0) {
		err = nothingSelected(f, len(plans))
	}
	return &prepared{runner, mine, skipped, shards, f.jobs}, err
}
