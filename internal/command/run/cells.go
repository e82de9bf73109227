package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/discover"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// planRun finds the cells of a run: of the recipes that are named, of all of them, or those that
// tiers choose. In a sweep, recipes without a node profile are skipped, and never passed (faults
// F24). If such a recipe is named, that is an error.
func (a *app) planRun(ctx context.Context, runner *matrix.Runner, deployers []bundle.Deployer, args []string, f runFlags) ([]matrix.Plan, []result.Result, error) {
	names := cli.SplitList(args)
	switch {
	case f.tiers != nil && len(names) > 0:
		return nil, nil, cli.Usagef("--tier selects the recipes; remove these arguments: %s", strings.Join(names, ", "))
	case f.tiers != nil && f.all:
		return nil, nil, cli.Usagef("--tier and --all exclude each other; --tier 3 is every recipe that sets a service")
	case f.all && len(names) > 0:
		return nil, nil, cli.Usagef("--all runs every recipe that sets a service; remove these arguments: %s", strings.Join(names, ", "))
	case f.tiers != nil:
		return a.planTiers(ctx, runner, f)
	case f.base != "" && f.before.from != matrix.FromBase:
		return nil, nil, cli.Usagef("--base says what tier 2 and --from base compare with; it needs one of --tier and --from base")
	case f.profile != "" && len(names) == 0:
		return nil, nil, cli.Usagef("--profile chooses a value for the recipes that are named; --all and tier 3 run each value")
	case len(names) > 0:
		names, err := withProfile(runner.Store, names, f.profile)
		if err != nil {
			return nil, nil, err
		}
		return planRecipes(runner, names, deployers, false)
	case !f.all:
		return nil, nil, cli.Usagef("no recipe given; available recipes: %s. Use --all to run every recipe that sets a service", strings.Join(runner.Store.Names(), ", "))
	}
	for _, name := range runner.Store.Names() {
		if o, ok := runner.Store.Overlay(name); ok && o.Testable() {
			for _, v := range runner.Store.Variants(name) {
				names = append(names, v.Name)
			}
		}
	}
	return planRecipes(runner, names, deployers, true)
}

// withProfile gives the recipes with the value of their profile that --profile names.
func withProfile(store *recipe.Store, names []string, flag string) ([]string, error) {
	selection, err := recipe.ParseProfile(flag)
	if err != nil {
		return nil, cli.Usagef("--profile: %w", err)
	}
	if flag == "" {
		return names, nil
	}
	var with []string
	for _, name := range names {
		variant, err := store.WithValue(name, selection)
		if err != nil {
			if r, unknown := store.ResolveName(name); unknown == nil && len(r.ComponentRefs) == 0 {
				return nil, cli.Usagef("--profile %s: these recipes cannot be read here as a whole, and so not what profiles they have; without the flag, AICR's CLI takes the default value", flag)
			}
			return nil, cli.Usagef("--profile %s: %w", flag, err)
		}
		with = append(with, variant)
	}
	return with, nil
}

func planRecipes(runner *matrix.Runner, names []string, deployers []bundle.Deployer, sweep bool) ([]matrix.Plan, []result.Result, error) {
	var plans []matrix.Plan
	var skipped []result.Result
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		more, err := runner.Plan(name, deployers)
		if why := reason.Of(err); sweep && (why == reason.NoProfile || why == reason.ConstraintBroken) {
			for _, d := range deployers {
				skipped = append(skipped, skip(runner, name, d.Name(), why, err.Error()))
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, more...)
	}
	return plans, skipped, nil
}

// runnable leaves out, in a sweep, the recipes with a component without any simulated chart. AICR
// has added such a component, and a failed cell would blame the recipe. So the cell is skipped, and
// never passed. A missing version is a failure nevertheless, and so is any missing chart if the
// user gave a directory of charts, which should have it.
func runnable(ctx context.Context, runner *matrix.Runner, plans []matrix.Plan) (kept []matrix.Plan, skipped []result.Result, err error) {
	shipped, ok := runner.Charts.(*charts.Simulated)
	if !ok {
		return plans, nil, nil
	}
	missing := map[string]string{} // by recipe
	for _, p := range plans {
		why, asked := missing[p.Cell.Recipe]
		if !asked {
			if why, err = unsimulated(ctx, shipped, p.Components()); err != nil {
				return nil, nil, err
			}
			missing[p.Cell.Recipe] = why
		}
		if why == "" {
			kept = append(kept, p)
			continue
		}
		skipped = append(skipped, skip(runner, p.Cell.Recipe, p.Cell.Deployer, reason.BundleFailed, why))
	}
	return kept, skipped, nil
}

// unsimulated says for which components there is no chart, in any version; it is empty if there are
// all.
func unsimulated(ctx context.Context, shipped *charts.Simulated, components []recipe.Component) (string, error) {
	var names []string
	for i := range components {
		c := &components[i]
		if c.Type != recipe.TypeHelm || c.Chart == "" {
			continue
		}
		_, _, err := shipped.Load(ctx, catalog.Ref{Name: catalog.RefOf(c).Name})
		var none *catalog.NotFoundError
		if errors.As(err, &none) {
			names = append(names, fmt.Sprintf("component %s (%s, chart %s %s)", c.Name, c.Declared, catalog.RefOf(c).Name, c.Version))
		} else if err != nil {
			return "", err
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return fmt.Sprintf("no simulated chart for %s. Give the originals with --charts DIR --charts %s, or --charts upstream", strings.Join(names, ", "), shipped.Name()), nil
}

func skip(runner *matrix.Runner, name, deployer string, class reason.Reason, why string) result.Result {
	return runner.NotRun(result.Cell{Recipe: name, Deployer: deployer}, result.Verdict{Status: result.Skipped, Reason: class, Cause: why})
}

// planTiers plans the cells that `matrix discover` chooses, and says why on stderr.
func (a *app) planTiers(ctx context.Context, runner *matrix.Runner, f runFlags) ([]matrix.Plan, []result.Result, error) {
	chosen, err := a.selectCells(ctx, discoverFlags{tiers: f.tiers, deployers: f.deployers, base: f.base, recipes: f.recipes, profiles: f.profiles, charts: f.charts})
	if err != nil {
		return nil, nil, err
	}
	if _, err := fmt.Fprint(a.Stderr, whyChosen(chosen)); err != nil {
		return nil, nil, err
	}
	var plans []matrix.Plan
	for all := chosen.Entries; len(all) > 0; {
		name, lanes := all[0].Recipe, []string{}
		for ; len(all) > 0 && all[0].Recipe == name; all = all[1:] { // they are sorted by recipe
			lanes = append(lanes, all[0].Deployer)
		}
		deployers, err := bundle.ByName(lanes)
		if err != nil {
			return nil, nil, err
		}
		more, err := runner.Plan(name, deployers)
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, more...)
	}
	for _, e := range chosen.Entries {
		if slices.Contains(e.Tiers, 2) && !slices.Contains(runner.First, e.Recipe) {
			runner.First = append(runner.First, e.Recipe) // the change reaches it
		}
	}
	var skipped []result.Result
	for _, s := range chosen.Skipped {
		for _, d := range s.Deployers {
			skipped = append(skipped, skip(runner, s.Recipe, d, reason.NoProfile, s.Reason))
		}
	}
	return plans, skipped, nil
}

// mostChosen keeps the head of a log readable; matrix discover has every cell.
const mostChosen = 40

// whyChosen has a line for each recipe and set of reasons.
func whyChosen(p *discover.Plan) string {
	text := fmt.Sprintf("tiers: %s   cells: %d   skipped: %d", strings.Trim(fmt.Sprint(p.Tiers), "[]"), len(p.Entries), len(p.Skipped))
	if p.Base != nil {
		text += fmt.Sprintf("   compared with %s, %s", p.Base.Commit, p.Base.Of)
	}
	var rows [][]string
	for _, row := range p.Rows()[1:] { // without the table's head
		last := len(rows) - 1
		if last >= 0 && rows[last][0] == row[0] && slices.Equal(rows[last][2:], row[2:]) {
			rows[last][1] += "," + row[1]
			continue
		}
		rows = append(rows, row)
	}
	more := len(rows) - mostChosen
	if more > 0 {
		rows = rows[:mostChosen]
	}
	for _, row := range rows {
		row[0], row[2] = "  "+row[0], "tier "+row[2]
	}
	text += "\n" + cli.Table(rows)
	if more > 0 {
		text += fmt.Sprintf("  and %d more recipes: see matrix discover\n", more)
	}
	for _, n := range p.Notes {
		text += "note: " + n + "\n"
	}
	return text
}

// nothingSelected is the error of a run that tiers have left without cells; planned is how many
// there were before sharding.
func nothingSelected(f runFlags, planned int) error {
	if planned > 0 {
		return reason.New(reason.NothingSelected, "--shard %s is empty, since --tier %s has fewer cells (%d): nothing was checked", f.shard, strings.Join(f.tiers, ","), planned)
	}
	return reason.New(reason.NothingSelected, "--tier %s has no cell for this change: nothing was checked", strings.Join(f.tiers, ","))
}

// runNothing ends a run without cells: there is nothing to start, and it is no pass.
func (a *app) runNothing(ctx context.Context, out *reporter, format string, nothing error) error {
	a.Progress.Close()
	results := append([]result.Result{}, out.skipped...)
	if len(results) > 0 || format == "json" {
		if err := a.printRun(out, results, format); err != nil {
			return out.close(results, err)
		}
	}
	if nothing == nil {
		nothing = reports.RunError(ctx, results, nil)
	}
	return out.close(results, nothing)
}
