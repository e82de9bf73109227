// Package run has the commands that choose cells, and run or check them: run, check, parity,
// discover and why-run.
package run

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/metrics"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// app is what the commands of this package share.
type app struct {
	*cli.App
	ci *reports.CIFiles // of the command run
}

// runFlags are the flags of run, by topic as in its help.
type runFlags struct {
	selection
	sourceFlags
	afterGate
	pace
	kept
	deployers []string
	helm      []string // --helm; helmMajor is of the lane helm, 0 for its bundle's own
	helmMajor int
	bundles   bundlerFlags
	mixins    mixinFlags
	before    fromFlags
	platform  platform.Flags
	metrics   string
	reports   reportFlags
	ignored   ignoreFlags
}

// selection says which cells run.
type selection struct {
	all   bool
	tiers []string // nil without --tier
	base  string
	shard string
}

// sourceFlags say what a run reads.
type sourceFlags struct {
	charts []string
	// givenCharts are the flag's values as they were given.
	givenCharts []string
	// usualCharts is what charts has if the flag is not given; validateFlags fills it in.
	usualCharts []string
	recipes     cli.RecipeDirs
	profiles    string
	profile     string // NAME=VALUE of the recipes' own
}

// afterGate says what a cell is checked with once its pods are where they should be.
type afterGate struct {
	checks bool
	probes bool
	// controllers are those of users' jobs that run for real; jobs describes them, with what they
	// need, once they are checked.
	controllers []string
	jobs        []addons.Scheduler
	drift       bool // deliver a second time
	remove      bool // undeploy at the end
	validate    string
	phases      []validate.Phase // of validate
	chaos       string
}

// pace says how many cells run side by side, in which order, and when the run ends early.
type pace struct {
	parallel   int
	ahead      int
	jobTimeout time.Duration
	maxStrikes int
	costs      []string
	failFast   bool
	// plain leaves out the proxies between controllers and the API server; plainSet: by the flag,
	// which goes before the variable.
	plain, plainSet bool
}

// kept says what a run prints and what it leaves.
type kept struct {
	artifacts  string
	output     string
	keep       bool
	noSnapshot bool
	reuse      string
	watch      bool // run again after each change
}

// RunCommand is `matrix run`.
func RunCommand(shared *cli.App, ci *reports.CIFiles) *cobra.Command {
	a := &app{App: shared, ci: ci}
	var f runFlags
	cmd := cli.ExitCodesInHelp(&cobra.Command{
		Use:   "run [RECIPE...]",
		Short: "Run recipes through deployers and verify that their pods land where they should",
		Long: `Run each recipe through each deployer, every cell on a fresh cluster of its own: real etcd, API server, controller
manager, scheduler, Argo CD or Flux as host processes; nodes that KWOK simulates. With --platform kind they run in containers instead
(docs/kind.md). With --all instead of RECIPE, runs every
recipe that sets a service. With --tier instead, runs the cells that ` + "`matrix discover`" + ` selects; stderr says why.

Environment (seconds): KWOK_ARGOCD_SYNC_TIMEOUT 300 (480 for recipes of July 2026 and later), KWOK_ARGOCD_ROOT_GRACE 30,
KWOK_FLUX_SYNC_TIMEOUT 300 (500 for recipes of July 2026 and later), KWOK_FLUX_ROOT_GRACE 30, KWOK_SCHEDULING_TIMEOUT 120 (helm, helm-template). KWOK_REGISTRY_HOST_PORT (5500; if set, exactly that port),
KWOK_GITEA_HOST_PORT (3300 or another; the Git server with --platform kind), KWOK_CLUSTER (prefix of cluster names). KWOK_SYNC_DEADLINE_EPOCH (seconds since 1970): sync work ends then, and no cell
starts in the 120 s before; debug artifacts of a failure get another 60 s.`,
		Example: `  matrix run eks-training
  matrix run eks-training --deployer helm,flux-oci --report out`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.EndsUnread()
			f.plainSet, f.before.given, f.bundles.sinceGiven = cmd.Flags().Changed(plainFlag), cmd.Flags().Changed("from"), cmd.Flags().Changed(sinceFlag)
			f.before.listed = cmd.Flags().Changed("sequence")
			if f.watch {
				return a.runWatched(cmd, args, f)
			}
			return a.run(cmd.Context(), args, f)
		},
	})
	cmd.Flags().StringSliceVar(&f.helm, helmFlag, []string{"auto"}, helmHelp())
	cmd.Flags().StringSliceVarP(&f.deployers, "deployer", "d", []string{"all"}, "deployers: all, which is AICR's own, or a list of "+strings.Join(bundle.Names(), ", "))
	cli.ChartsFlag(cmd, &f.charts, "chart `source`: auto (upstream where the recipes have a charts.lock, else simulated), simulated, simulated-any-version, upstream (by recipes/charts.lock), unlocked (from the repositories, with --app), direct, or a directory of charts; repeat it for a list, of which the first source that has a chart provides it. Every result names it")
	cli.RecipesFlags(cmd, &f.recipes)
	cli.ProfilesFlag(cmd, &f.profiles)
	cmd.Flags().StringVar(&f.artifacts, "artifacts", "", "`directory` for logs, bundles and debug artifacts of failures, one per cell (default: none is kept)")
	cli.OutputFlag(cmd, &f.output)
	cmd.Flags().BoolVar(&f.keep, "keep", false, "keep each cell's control plane afterwards; controllers and registry are stopped")
	cmd.Flags().BoolVar(&f.noSnapshot, "no-snapshot", false, "do not save a cluster snapshot for failed cells (matrix replay needs one)")
	cmd.Flags().BoolVar(&f.checks, "checks", false, "after the gate, run the components' health checks (recipes/checks, Chainsaw Tests)")
	probesFlag(cmd, &f.probes)
	controllerFlag(cmd, &f.controllers)
	validateFlag(cmd, &f.validate)
	cmd.Flags().BoolVar(&f.plain, plainFlag, false, "connect Argo CD and Flux directly to the API server, without the proxies that save repeated reads and polls; slower ("+plainVariable+"=true)")
	cmd.Flags().StringVar(&f.profile, "profile", "", "value of the recipes' profile (spec.profile of an overlay), as `NAME=VALUE` (default: the profile's own default; with --all, each value)")
	cmd.Flags().BoolVar(&f.all, "all", false, "run every recipe that sets a service")
	cmd.Flags().IntVar(&f.parallel, "parallel", 0, "cells at a time (default: one per core, at most 4 and as memory allows; on kind one per four cores; 1 with KWOK_REGISTRY_HOST_PORT)")
	cmd.Flags().IntVar(&f.ahead, aheadFlag, 0, "clusters, with their controllers, to start for the next cells while others still run, as memory allows; for machines with idle cores (not with --platform kind or KWOK_REGISTRY_HOST_PORT)")
	cmd.Flags().DurationVar(&f.jobTimeout, "job-timeout", 0, "the job's `time`, e.g. 20m: budgets shrink so that sync work ends 240 s before it (default: no limit)")
	cmd.Flags().IntVar(&f.maxStrikes, "max-strikes", schedule.DefaultMax, "consecutive sync timeouts of one deployer that end the run; 0 for never")
	cmd.Flags().StringVar(&f.shard, "shard", "", "run one share of the recipes, e.g. `2/4` for the second of four; matrix merge joins the results")
	cmd.Flags().StringSliceVar(&f.costs, "costs", nil, "results `file` of an earlier run: cells that failed go first, then the slowest ones, and shards take about the same time; every shard needs the same files")
	cmd.Flags().BoolVar(&f.failFast, "fail-fast", false, "start no further cell after a failed one; cells that run are allowed to finish")
	cmd.Flags().StringSliceVar(&f.tiers, "tier", nil, "run what a change needs instead of named recipes: auto, or a list of `1, 2, 3` (matrix discover --help)")
	cmd.Flags().StringVar(&f.base, "base", "", "with --tier, --from base or --changed-since base: `commit` or branch to compare with (default: from GitHub's event)")
	f.bundles.register(cmd)
	f.mixins.register(cmd)
	f.before.register(cmd)
	cmd.Flags().StringVar(&f.reuse, "reuse", "", "`directory` of verdicts: a cell that passed there with exactly the same inputs is not run again, and what passes now is kept (matrix why-run says which input changed)")
	cmd.Flags().BoolVar(&f.drift, "drift", false, "at the end, deliver the same bundle a second time (a hard refresh in Argo CD, a forced reconciliation in Flux, deploy.sh again): nothing may change, and no pod may be replaced")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "after all else, undeploy in the deployer's own way (undeploy.sh, cascade, prune), and list what is left behind; anything stuck is a failure")
	cmd.Flags().StringVar(&f.chaos, "chaos", "", "`file` of steps that break nodes and pods of each cell that has passed; the result says which workloads survive; the verdict does not change (docs/workflows.md)")
	cmd.Flags().BoolVar(&f.watch, watchFlag, false, "run again after each change of a file that the recipes use, until Ctrl-C; the exit code is that of the last whole run")
	metrics.Flag(cmd, &f.metrics)
	f.platform.Register(cmd)
	f.ignored.register(cmd)
	f.reports.register(cmd)
	a.ci.Register(cmd)
	cli.ShortHelp(cmd, runHelp()...)
	return cmd
}

// run has the steps of the command: check the input, build, run, report.
func (a *app) run(ctx context.Context, args []string, f runFlags) error {
	a.ci.Recipes = []string{a.RecipesDirectory(f.recipes.Recipes), a.DataDirectory(f.recipes.Data), f.bundles.dir, f.bundles.app}
	if f.bundles.app != "" {
		a.ci.Recipes = append(a.ci.Recipes, ".") // an app may have files of its whole checkout
	}
	if f.bundles.existing.init {
		if err := a.settleApp(ctx, &f); err != nil {
			return err
		}
		return a.initCluster(ctx, f)
	}
	this, nothing := a.prepareRun(ctx, args, f)
	if this != nil {
		defer this.close()
	}
	if nothing != nil && reason.Of(nothing) != reason.NothingSelected {
		return nothing
	}
	runner := this.runner
	verdicts, err := a.reuser(f.reuse, runner.RunID)
	if err != nil {
		return err
	}
	if verdicts != nil && len(this.plans) > 0 {
		var reused []result.Result
		if this.plans, reused, err = a.reuseVerdicts(ctx, verdicts, runner, this.plans); err != nil {
			return err
		}
		this.skipped = append(this.skipped, reused...)
	}
	plans, skipped := this.plans, this.skipped
	for _, line := range runner.Share(ctx, plans, runtime.GOMAXPROCS(0)) {
		_, _ = fmt.Fprintln(a.Stderr, line)
	}
	served, err := metrics.Serve(a.App, f.metrics)
	if err != nil {
		return err
	}
	defer served.Close(a.App)
	out, err := a.openReports(ctx, f, this)
	if err != nil {
		return err
	}
	served.Cells(runner, len(plans), skipped)
	if len(plans) == 0 {
		return a.runNothing(ctx, out, f.output, nothing)
	}
	n := a.cellsAtATime(f.parallel, len(plans), runner.MemoryPerCell(), this.on, f.platform.Reuse)
	err = a.readyForFirst(ctx, this, n)
	defer runner.Building.Stop()
	if err != nil {
		return out.setupFailed(err)
	}
	if slices.ContainsFunc(plans, matrix.Plan.RunsControllers) {
		if err := platform.BuildSchedulers(ctx, a.App, this.jobs); err != nil {
			return out.setupFailed(err)
		}
	}
	dir, err := host.OpenRunDir(a.Paths, runner.RunID)
	if err != nil {
		return out.setupFailed(reason.Wrap(infra.DiskReason(err, reason.Internal), err))
	}
	runner.Dir = dir.Path
	a.overview(this, n)
	results, struck := runner.RunAll(ctx, plans, n)
	if verdicts != nil {
		a.keepVerdicts(ctx, verdicts, runner, plans, results)
	}
	a.addKeys(ctx, out, plans, results)
	results = append(results, skipped...)
	a.Progress.Close()
	for _, line := range slices.Concat(unused(runner.Bench, recipesOf(results), stagesOf(runner, results)...), runner.From.Unused()) {
		_, _ = fmt.Fprintln(a.Stderr, "warning: "+line)
	}
	if err := out.compare(a, results, f.reports.history); err != nil {
		return out.close(results, err)
	}
	if err := dir.Close(); err != nil {
		_, _ = fmt.Fprintf(a.Stderr, "warning: remove the run's directory: %s\n", err)
	}
	if err := a.printRun(out, results, f.output); err != nil {
		return out.close(results, err)
	}
	return out.close(results, reports.RunError(ctx, results, struck))
}

// overview shows on stderr how far the run is, besides what OnEvent does already.
func (a *app) overview(p *prepared, n int) {
	runner, plans := p.runner, p.plans
	var cells []result.Cell
	for _, p := range plans {
		cells = append(cells, p.Cell)
	}
	shown, others := cli.ShowOverview(a.Progress, runner.Durations, cells, n), runner.OnEvent
	for _, plan := range plans {
		if plan.Shares() {
			shown.Free(plan.Cell)
		}
	}
	shown.Compiling(func(now time.Time) (time.Duration, bool, bool) { return a.Helmfile.Left(now, p.stacks()...) })
	runner.OnEvent = func(e matrix.Event) {
		shown.Tell(e)
		if others != nil {
			others(e)
		}
	}
}

// printRun prints what a run ends with.
func (a *app) printRun(out *reporter, results []result.Result, format string) error {
	stdout := a.Stdout
	if out.events != nil {
		stdout = a.Stderr // stdout is the events'
	}
	if err := reports.Print(stdout, results, format, a.Width(stdout), out.explain); err != nil {
		return fmt.Errorf("print the results: %w", err)
	}
	return nil
}

// The flag and the variable that leave out the proxies between controllers and the API server.
const (
	plainFlag     = "plain-controllers"
	plainVariable = "AICR_ACTION_PLAIN_CONTROLLERS"
)

// plainControllers is the flag, or else the variable.
func (a *app) plainControllers(f runFlags) (bool, error) {
	text := a.Getenv(plainVariable)
	if f.plainSet || text == "" {
		return f.plain, nil
	}
	plain, err := strconv.ParseBool(text)
	if err != nil {
		return false, cli.Usagef("%s=%q: want true or false", plainVariable, text)
	}
	return plain, nil
}

// needs makes sure that what the clusters of all cells and these controllers are made of is there.
func (p *prepared) needs(ctx context.Context, controllers ...infra.ControllerKind) error {
	for _, on := range p.platforms() {
		if err := on.Needs(ctx, controllers...); err != nil {
			return err
		}
	}
	return nil
}

// stacks are those of the platforms of all cells; none on a platform that is not compiled.
func (p *prepared) stacks() []*stack.Stack {
	var all []*stack.Stack
	for _, on := range p.platforms() {
		if e, ok := on.(*embedded.Platform); ok {
			all = append(all, e.Stack)
		}
	}
	return all
}

// cellsAtATime is as many as the user asked for, or as the machine has room for. With a fixed
// registry port, and in a cluster that is reused, there is room for one. memory is what a cell
// takes, in bytes.
func (a *app) cellsAtATime(asked, cells int, memory uint64, on platform.Platform, reused bool) int {
	if _, exact, err := a.RegistryPort(); err == nil && exact || reused {
		return 1
	}
	if asked == 0 {
		asked = platform.ThisMachine().Cells(on.Limits, memory)
	}
	return max(1, min(asked, cells))
}

// validateFlag is the flag of the recipe's own validation phases.
func validateFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "validate", "", "after the gate, run the `phases` of the recipe's own validation block: readiness, deployment, performance, conformance, or a list (--validate alone: all)")
	cmd.Flags().Lookup("validate").NoOptDefVal = "all"
}

// probesFlag is the flag of the jobs that a user of the recipe would run.
func probesFlag(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "probes", false, "after the gate, run the jobs that a user of the recipe would run (recipes/probes): each must be placed, on nodes with GPUs")
}
