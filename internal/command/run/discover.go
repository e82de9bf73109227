package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/discover"
	"github.com/nvidia/aicr-action/internal/matrix/durations"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

type discoverFlags struct {
	tiers, deployers, charts []string
	costs                    []string
	base, profiles, format   string
	from                     string
	plan                     string
	names                    []string
	recipes                  cli.RecipeDirs
	mixins                   mixinFlags
	maxJobs                  int
}

// DiscoverCommand is `matrix discover`.
func DiscoverCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var f discoverFlags
	cmd := &cobra.Command{
		Use:   "discover [RECIPE...]",
		Short: "List the recipes and deployers that a change needs, for a CI matrix",
		Long: `List the cells to run, and why.

Tier 1: every overlay with a service and without an accelerator, all deployers.
Tier 2: every overlay with an accelerator that the change reaches, helm only. A change reaches an overlay by a file of its
        recipe: overlays, mixins, values, manifests, patches, checks, charts. registry.yaml and overlays/base.yaml, which every
        recipe has, reach those that resolve to something else than before.
Tier 3: every overlay with a service, all deployers.

The change is the difference between the working tree and the merge base, which on GitHub comes from the event: in a checkout of
refs/pull/N/merge it is the first parent (fetch-depth: 2 will do). A recipe without node profiles is listed as skipped.

With --from, each recipe also has upgrades in the same lanes. From base, a recipe whose resolved bundle did not change has none; a
note names it.

With RECIPE, the cells are those of the named recipes instead, with all deployers.

--tier auto is 1 and 2 on pull requests, in merge groups, and with --base; 3 on pushes to the default branch and on a schedule;
otherwise 1.

Formats: table; json (everything); github (one line for strategy.matrix; fields name, recipe, deployer, cells; a job has all lanes
of a recipe, and several recipes when there would be more than --max-jobs); cells (a line "recipe deployer" for each; of an upgrade, with its source).`,
		Example: `  matrix discover --base origin/main
  echo "matrix=$(matrix discover --tier 1,2 --format github)" >> "$GITHUB_OUTPUT"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.names = cli.SplitList(args); len(args) > 0 && len(f.names) == 0 {
				return cli.Usagef("the list of recipes is empty")
			} else if len(f.names) > 0 && cmd.Flags().Changed("tier") {
				return cli.Usagef("--tier selects the recipes; remove these arguments: %s", strings.Join(f.names, ", "))
			}
			cli.Brief(a.Getenv)
			return a.discover(cmd.Context(), f)
		},
	}
	cmd.Flags().StringSliceVar(&f.tiers, "tier", []string{"auto"}, "tiers: auto, or a list of 1, 2, 3")
	cmd.Flags().StringVar(&f.base, "base", "", "`commit` or branch to compare with (default: from GitHub's event)")
	cmd.Flags().Var((*source)(&f.from), "from", "also plan an upgrade of each recipe from this `source`, as matrix run --from runs it; from base (of the pull request, or --base) only of recipes whose resolved bundle changed")
	cmd.Flags().StringSliceVarP(&f.deployers, "deployer", "d", []string{"all"}, "deployers of tiers 1 and 3: all, which is AICR's own, or a list; tier 2 is helm only")
	cli.RecipesFlags(cmd, &f.recipes)
	f.mixins.register(cmd)
	cli.ProfilesFlag(cmd, &f.profiles)
	cli.ChartsFlag(cmd, &f.charts, "chart `source` whose changes count: auto (as for matrix run), simulated (kwok/charts, if the repository has it), upstream or direct (charts.lock), or a directory; repeat it for a list")
	cmd.Flags().StringVarP(&f.format, "format", "o", "table", "output format: table, json, github or cells")
	cmd.Flags().StringVar(&f.plan, "plan", "", "also write the plan as JSON to a `file`, for matrix merge --plan")
	cmd.Flags().IntVar(&f.maxJobs, "max-jobs", discover.MaxJobs, "most entries of the GitHub matrix, 1 to 256")
	cmd.Flags().StringSliceVar(&f.costs, "costs", nil, "results `file` of an earlier run: jobs of several recipes then end at about the same time")
	return cmd
}

func (a *app) discover(ctx context.Context, f discoverFlags) error {
	if !slices.Contains([]string{"table", "json", "github", "cells"}, f.format) {
		return cli.Usagef("--format %q: want table, json, github or cells", f.format)
	}
	if f.maxJobs < 1 || f.maxJobs > discover.MaxJobs {
		return cli.Usagef("--max-jobs %d: want 1 to %d, GitHub's limit for one matrix", f.maxJobs, discover.MaxJobs)
	}
	book, err := openCosts(f.costs)
	if err != nil {
		return err
	}
	plan, err := a.selectCells(ctx, f)
	if err != nil {
		return err
	}
	if f.plan != "" {
		if err := reports.WritePlan(f.plan, plan); err != nil {
			return err
		}
	}
	if f.format != "table" && f.format != "json" { // those two have skipped recipes and notes themselves
		for _, s := range plan.Skipped {
			_, _ = fmt.Fprintf(a.Stderr, "skipped: %s: %s\n", s.Recipe, s.Reason)
		}
		for _, n := range plan.Notes {
			_, _ = fmt.Fprintln(a.Stderr, "note:", n)
		}
	}
	return a.printPlan(plan, f, book)
}

// selectCells is what discover prints and run --tier runs.
func (a *app) selectCells(ctx context.Context, f discoverFlags) (*discover.Plan, error) {
	in, err := a.discoverInput(ctx, f)
	if err != nil {
		return nil, err
	}
	plan, err := discover.Select(in)
	if errors.Is(err, discover.ErrNothing) {
		for _, s := range plan.Skipped {
			err = fmt.Errorf("%w\n  %s: %s", err, s.Recipe, s.Reason)
		}
	}
	return plan, cli.WrapUsage(err)
}

func (a *app) printPlan(plan *discover.Plan, f discoverFlags, book *durations.Book) error {
	switch f.format {
	case "json":
		return cli.PrintJSON(a.Stdout, plan)
	case "github":
		line, err := plan.GitHub(f.maxJobs, book)
		if err != nil {
			return reason.Wrap(reason.Usage, fmt.Errorf("--max-jobs: %w", err))
		}
		_, err = io.WriteString(a.Stdout, cli.InertJSON(line))
		return err
	case "cells":
		_, err := io.WriteString(a.Stdout, cli.Inert(plan.Cells()))
		return err
	}
	text := cli.Table(plan.Rows()) + "\n"
	if plan.Base != nil {
		text += fmt.Sprintf("compared with %s, %s\n", plan.Base.Commit, plan.Base.Of)
	}
	for _, n := range plan.Notes {
		text += "note: " + n + "\n"
	}
	text += fmt.Sprintf("cells: %d   skipped: %d\n", len(plan.Entries), len(plan.Skipped))
	_, err := io.WriteString(a.Stdout, cli.Inert(text))
	return err
}

// discoverInput reads the recipes and, for tier 2, what changed.
func (a *app) discoverInput(ctx context.Context, f discoverFlags) (discover.Input, error) {
	var in discover.Input
	var tiers []int
	var err error
	if len(f.names) == 0 {
		if tiers, err = a.tiers(f); err != nil {
			return in, err
		}
	}
	if _, err := bundle.ByName(cli.SplitList(f.deployers)); err != nil { // before the recipes are read
		return in, reason.Wrap(reason.Usage, err)
	}
	names, remove, err := f.mixins.compose(a, f.names, &f.recipes)
	if err != nil {
		return in, err
	}
	defer remove() // all of it is read below
	f.names = names
	store, _, err := a.Recipes(f.recipes)
	if err != nil {
		return in, err
	}
	a.TellRead(store)
	deployers, err := bundle.ByNameFor(cli.SplitList(f.deployers), store.Generation())
	if err != nil {
		return in, reason.Wrap(reason.Usage, err)
	}
	if dirs := cli.ChartDirectories(f.charts); len(dirs) > 0 { // a run would refuse them, in each of its jobs
		if _, err := a.Charts(dirs, ""); err != nil {
			return in, err
		}
	}
	profiles, err := cli.Profiles(f.profiles, a.RecipesDirectory(f.recipes.Recipes))
	if err != nil {
		return in, err
	}
	in = discover.Input{Store: store, Tiers: tiers, Names: f.names, Runnable: func(r *recipe.Result) error {
		_, err := simulate.ForRecipe(profiles, r.Criteria.Service, r.Criteria.Accelerator, r.DeploymentOrder, a.Settings.NodeGroups())
		return err
	}}
	for _, d := range deployers {
		in.Deployers = append(in.Deployers, d.Name())
	}
	if slices.Contains(tiers, 2) {
		if in.Diff, err = a.changesSince(ctx, "tier 2", f.base, f.recipes, f.charts); err != nil {
			return in, err
		}
	}
	if f.from != "" {
		in.Upgrades = &discover.Upgrades{From: f.from, Diff: in.Diff}
		if f.from != matrix.FromBase {
			in.Upgrades.Diff, err = nil, a.checkSource(ctx, f)
		} else if in.Diff == nil {
			in.Upgrades.Diff, err = a.changesSince(ctx, "--from base", f.base, f.recipes, f.charts)
		}
	}
	return in, err
}

// checkSource refuses a source that does not exist: the run would refuse it in each of its jobs.
func (a *app) checkSource(ctx context.Context, f discoverFlags) error {
	into, err := os.MkdirTemp("", "matrix-from-")
	if err != nil {
		return reason.Wrap(reason.Internal, err)
	}
	defer func() { _ = os.RemoveAll(into) }() // a leftover in the directory for temporary files
	_, err = matrix.FromRequest{Text: f.from, RecipesDir: a.RecipesDirectory(f.recipes.Recipes), Into: into, Getenv: a.Getenv}.Open(ctx)
	return cli.WrapUsage(err)
}

// changesSince finds what changed in the recipes, data and charts since the base. What says, for
// people, what needs it.
func (a *app) changesSince(ctx context.Context, what, rev string, recipes cli.RecipeDirs, chartFlags []string) (*discover.Diff, error) {
	dir := a.RecipesDirectory(recipes.Recipes)
	if dir == "" {
		return nil, cli.Usagef("%s needs a recipes directory in a git repository, and these are the recipes in this binary; give --recipes-dir DIR, or only --tier 1 or 3", what)
	}
	safe := ""
	if a.Getenv("GITHUB_ACTIONS") == "true" {
		safe = a.Getenv("GITHUB_WORKSPACE")
	}
	repo, err := discover.OpenRepo(ctx, dir, safe)
	if err != nil {
		return nil, cli.WrapUsage(err)
	}
	base, err := repo.FindBase(ctx, rev, a.Getenv)
	if err != nil {
		return nil, cli.WrapUsage(err)
	}
	diff, err := repo.Compare(ctx, base, discover.Dirs{Recipes: dir, Data: a.DataDirectory(recipes.Data), Charts: chartsOf(a.ChartsFor(chartFlags, recipes.Recipes), repo.Top)})
	return diff, cli.WrapUsage(err)
}

// tiers reads --tier.
func (a *app) tiers(f discoverFlags) ([]int, error) {
	asked := cli.SplitList(f.tiers)
	if len(asked) == 1 && asked[0] == "auto" {
		tiers, err := discover.AutoTiers(a.Getenv, f.base)
		if f.base == "" && a.EmbeddedRecipes(f.recipes.Recipes) && a.DataDirectory(f.recipes.Data) == "" {
			tiers = slices.DeleteFunc(tiers, func(tier int) bool { return tier == 2 }) // no change of this repository affects the recipes in this binary
		}
		return tiers, cli.WrapUsage(err)
	}
	var tiers []int
	for _, text := range asked {
		tier, err := strconv.Atoi(text)
		if err != nil || tier < 1 || tier > 3 {
			return nil, cli.Usagef("--tier %q: want auto, or a list of 1, 2, 3", text)
		}
		tiers = append(tiers, tier)
	}
	if len(tiers) == 0 {
		return nil, cli.Usagef("--tier is empty: want auto, or a list of 1, 2, 3")
	}
	slices.Sort(tiers)
	return slices.Compact(tiers), nil
}

// chartsOf are the charts whose changes count, by the values of --charts.
func chartsOf(sources []string, top string) discover.Charts {
	c := discover.Charts{Dirs: cli.ChartDirectories(sources)}
	if slices.Contains(sources, charts.UpstreamName) || slices.Contains(sources, charts.DirectName) {
		c.Lock = charts.LockFile
	}
	shipped := filepath.Join(top, "kwok", "charts")
	if info, err := os.Stat(shipped); (slices.Contains(sources, cli.Simulated) || slices.Contains(sources, charts.AnyVersionName)) && err == nil && info.IsDir() {
		c.Dirs = append(c.Dirs, shipped)
	}
	return c
}
