package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/command/bundles"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/intake/aicrcli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/discover"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// fromFlags say what runs in the cluster before.
type fromFlags struct {
	from     string
	aicr     string // AICR's CLI of the old recipes
	rollback bool
	evidence string // the file for what was seen
	given    bool   // --from is there, if only as an empty text
	listed   bool   // --sequence is there
	steps    string // the file of what a person does before an upgrade
	// sequences are further cells beside each upgrade: what runs before fails, or is removed.
	sequences []string
}

func (f *fromFlags) register(cmd *cobra.Command) {
	cmd.Flags().Var((*source)(&f.from), "from", "besides each first installation, run an upgrade from this `source`: a Git ref, base (of the pull request), or a directory of recipes, a bundle, or what --artifacts kept of an earlier run")
	cmd.Flags().StringVar(&f.aicr, "from-aicr", "", "with --from and --bundler exec: AICR's CLI that makes the old bundles, a `path` or a name to find in PATH (default: built from the old recipes' checkout)")
	cmd.Flags().StringVar(&f.evidence, "evidence", "", "with --from: `file` (JSON) for what the upgrades have shown, which aicr upgrade-check --evidence reads")
	cmd.Flags().StringVar(&f.steps, "upgrade-steps", "", "with --from: `file` (YAML) of steps that are carried out before an upgrade, and of differences after it that are accepted (default: upgrade-steps.yaml beside the recipes or in the app's directory, if it is there)")
	cmd.Flags().StringSliceVar(&f.sequences, "sequence", nil, "with --from: beside each upgrade, a `list` of further cells: failed (the old delivery is made to fail, and the new one must heal that), removed (the old one is undeployed, and the new one is installed on what stays)")
	cmd.Flags().BoolVar(&f.rollback, "rollback", false, "with --from: after the upgrade, go back to what ran before (helm rollback; elsewhere as after a revert): the cluster must be as it was")
}

// source is the value of --from, which is given once: of two the last one would count, without a word of
// the other.
type source string

func (s *source) String() string { return string(*s) }

func (s *source) Type() string { return "source" }

func (s *source) Set(text string) error {
	if *s != "" {
		return fmt.Errorf("it is given twice (%s before): an upgrade starts from one source; run matrix once for each", *s)
	}
	*s = source(text)
	return nil
}

// rerun are the flags that run an upgrade again.
func (f fromFlags) rerun(c result.Cell) []string {
	parts := []string{"--from", f.from}
	if f.aicr != "" {
		parts = append(parts, "--from-aicr", f.aicr)
	}
	if f.steps != "" {
		parts = append(parts, "--upgrade-steps", f.steps)
	}
	if c.Sequence != "" {
		parts = append(parts, "--sequence", c.Sequence)
	}
	if f.rollback && c.Sequence == "" {
		parts = append(parts, "--rollback")
	}
	return parts
}

// check refuses flags that do not go together.
func (f fromFlags) check(run *runFlags) error {
	switch {
	case f.given && strings.TrimSpace(f.from) == "":
		return cli.Usagef("--from is empty: give a Git branch or tag, base, or a directory of recipes, a bundle or kept files; without --from no upgrade runs")
	case f.from == "" && f.rollback:
		return cli.Usagef("--rollback undoes an upgrade; say with --from what runs before it")
	case f.listed && len(f.sequences) == 0:
		return cli.Usagef("--sequence is empty: want a list of %s; without it the upgrade alone runs", strings.Join(result.Sequences(), ", "))
	case f.from == "" && len(f.sequences) > 0:
		return cli.Usagef("--sequence says how the new version follows on what runs before; say with --from what that is")
	case wrong(f.sequences) != "":
		return cli.Usagef("--sequence %s: want a list of %s; the upgrade itself always runs", wrong(f.sequences), strings.Join(result.Sequences(), ", "))
	case f.from == "" && f.steps != "":
		return cli.Usagef("--upgrade-steps has what a person does before an upgrade; say with --from what runs before it")
	case f.from == "" && f.evidence != "":
		return cli.Usagef("--evidence has what upgrades have shown; say with --from what runs before them")
	case f.aicr != "" && (f.from == "" || run.bundles.bundler != execBundler):
		return cli.Usagef("--from-aicr is AICR's CLI of what runs before; it needs --from, and --bundler exec for what comes after")
	case f.from == "":
		return nil
	case slices.Contains(run.charts, charts.DirectName):
		return cli.Usagef("--from does not work with --charts %s: what the controllers may reach is decided by one recipe. Use --charts %s, which has the same charts", charts.DirectName, charts.UpstreamName)
	}
	return nil
}

// wrong is the first sequence that there is not; empty if all are known. An empty name is one, too.
func wrong(sequences []string) string {
	for _, s := range sequences {
		if !slices.Contains(result.Sequences(), s) {
			return strconv.Quote(s)
		}
	}
	return ""
}

// openFrom opens what runs before. What it takes from Git is removed by the function that it
// returns.
func (a *app) openFrom(ctx context.Context, args []string, f runFlags, v validFlags) (_ *matrix.From, remove func(), err error) {
	remove = func() {}
	if f.before.from == "" {
		return nil, remove, nil
	}
	into, err := os.MkdirTemp("", "matrix-from-")
	if err != nil {
		return nil, remove, reason.Wrap(reason.Internal, err)
	}
	remove = func() { _ = os.RemoveAll(into) } // a leftover in the directory for temporary files
	beside := a.RecipesDirectory(f.recipes.Recipes)
	if f.bundles.app != "" {
		beside = bundles.AppDirectory(f.bundles.app)
	}
	source, err := matrix.FromRequest{
		Text: f.before.from, RecipesDir: beside, App: f.bundles.app, Into: into, Whole: f.bundles.checkout != "" && f.before.aicr == "", Base: f.base, Getenv: a.Getenv,
		Dirs: f.changingDirs(),
	}.Open(ctx)
	if err != nil {
		return nil, remove, reason.Wrap(reason.Usage, err)
	}
	made := &matrix.From{Name: source.Name, Title: source.Title(), Commit: source.Commit}
	if made.Steps, err = matrix.StepsOf(f.before.steps, beside); err != nil {
		return nil, remove, reason.Wrap(reason.Usage, err)
	}
	if source.App != "" {
		return made, remove, a.fromApp(ctx, made, source, f)
	}
	if source.Recipes != "" && f.bundles.dir != "" {
		return nil, remove, cli.Usagef("--from %s has recipes, and with --bundle-dir a bundle is upgraded from a bundle: give the directory of the old one, or what --artifacts kept of a run", f.before.from)
	}
	if source.Recipes == "" {
		return made, remove, a.fromBundles(made, source, f, v)
	}
	old := f
	old.recipes.Recipes, old.charts = source.Recipes, a.ChartsFor(f.givenCharts, source.Recipes)
	old.charts, old.recipes.Data = source.ChartsFor(old.charts), source.DataFor(f.recipes.Data)
	if source.Charts != "" && slices.Equal(old.charts, []string{cli.Simulated}) {
		old.charts = []string{source.Charts, cli.Simulated}
	}
	if old.bundles, err = f.before.bundler(f.bundles, source); err != nil {
		return nil, remove, err
	}
	open := a.Recipes
	if f.bundles.bundler == execBundler {
		open = a.RecipesOrHeaders
	}
	if made.Store, made.RecipesName, err = open(old.recipes); err != nil {
		return nil, remove, reason.Wrap(reason.Usage, source.Unreadable(err))
	}
	made.Left = func(name string) (string, error) { return f.lacks(source.Has(made.Store, name)) }
	if made.Bundler, _, err = a.openBundler(ctx, args, old, v.deployers[0], made.Store); err != nil {
		return nil, remove, err
	}
	if made.Charts, err = a.Charts(old.charts, source.Recipes); err != nil {
		return nil, remove, err
	}
	return made, remove, nil
}

// changingDirs are the directories, besides the recipes, that a change may have changed.
func (f runFlags) changingDirs() []string {
	var dirs []string
	for _, value := range append(cli.ChartValues(f.givenCharts), f.recipes.Data) {
		if value != "" && !slices.Contains(cli.ChartSources(), value) {
			dirs = append(dirs, value)
		}
	}
	return dirs
}

// lacks says why a recipe that the source does not have is left out: of all recipes, some may be
// new. One that the user named is an error.
func (f runFlags) lacks(err error) (string, error) {
	if err == nil {
		return "", nil
	}
	if f.all || f.tiers != nil {
		return f.before.from + " has no such recipe", nil
	}
	return "", reason.Wrap(reason.Usage, err)
}

// bundler gives who makes the old bundles: the CLI of the old recipes. The CLI that makes the new
// ones has recipes of its own, with which both would be the same.
func (f fromFlags) bundler(b bundlerFlags, source *matrix.FromSource) (bundlerFlags, error) {
	root, built := aicrcli.FindCheckout(source.Recipes)
	switch {
	case b.bundler != execBundler:
		return b, nil
	case f.aicr != "":
		b.aicr, b.checkout = f.aicr, ""
	case !built:
		return b, cli.Usagef("--from %s: the old recipes are in no checkout of AICR with its CLI, from which it could be built, and the CLI of the new ones would make the same bundles again; pass --from-aicr PATH, AICR's CLI of the old recipes", f.from)
	default:
		b.aicr, b.checkout, b.commit = buildAICR, root, source.Commit
	}
	return b, nil
}

// fromApp lets an older state of an app run before.
func (a *app) fromApp(ctx context.Context, made *matrix.From, source *matrix.FromSource, f runFlags) (err error) {
	old, err := f.bundles.found.Before(ctx, source.App)
	if err != nil {
		return reason.New(reason.Usage, "--from %s: %w", f.before.from, err)
	}
	if made.Charts, err = a.Charts(f.charts, f.chartsDirectory()); err != nil {
		return err
	}
	made.Bundle = func(ctx context.Context, cell result.Cell, d bundle.Deployer) (matrix.BaseBundle, error) {
		read, err := old.Open(ctx, d)
		if err != nil {
			return matrix.BaseBundle{}, reason.New(reason.Usage, "--from %s: %w", f.before.from, err)
		}
		in := bundle.Input{Recipe: read.Resolved(cell.Recipe)}
		in.Components, in.Given = read.Components()
		if err := a.PullCharts(ctx, made.Charts, [][]charts.Pin{charts.Pins(in.Components)}); err != nil {
			return matrix.BaseBundle{}, offline(err)
		}
		if err := haveCharts(ctx, made.Charts, in.Components); err != nil {
			return matrix.BaseBundle{}, err
		}
		return matrix.BaseBundle{Bundler: intake.NewDir(read), Input: in}, nil
	}
	made.LeaveOut = func(ctx context.Context, apps []string) ([]string, error) {
		d, err := bundle.ByName([]string{f.deployers[0]})
		if err != nil {
			return nil, err
		}
		old.Without = nil
		read, err := old.Open(ctx, d[0])
		if err != nil {
			return nil, reason.New(reason.Usage, "--from %s: %w", f.before.from, err)
		}
		others := read.Dependents(apps)
		old.Without = slices.Concat(apps, others)
		return others, nil
	}
	return nil
}

// fromBundles lets bundles run before: one that is given, or those that an earlier run kept.
func (a *app) fromBundles(made *matrix.From, source *matrix.FromSource, f runFlags, v validFlags) error {
	switch {
	case f.reuse != "":
		return cli.Usagef("--from %s is a bundle, and --reuse knows what recipes are made of, not what a bundle is; leave --reuse out, or give the recipes that it was made of", f.before.from)
	case source.Bundle != "" && len(v.deployers) != 1:
		return cli.Usagef("--from %s is a bundle, which is for one deployer; name that one with --deployer", f.before.from)
	}
	var err error
	if made.Charts, err = a.Charts(f.charts, f.chartsDirectory()); err != nil {
		return err
	}
	made.Bundle = func(ctx context.Context, cell result.Cell, d bundle.Deployer) (matrix.BaseBundle, error) {
		dir, recorded, err := source.BundleOf(cell)
		if err != nil {
			return matrix.BaseBundle{}, reason.Wrap(reason.Usage, err)
		}
		read, err := intake.Open(ctx, dir, d)
		if err != nil {
			return matrix.BaseBundle{}, reason.New(reason.Usage, "--from %s: the lane %s cannot deliver what is there: %w", f.before.from, d.Name(), err)
		}
		if err := read.Only(f.bundles.class); err != nil {
			return matrix.BaseBundle{}, cli.Usagef("--from %s with --class %s: %w", f.before.from, f.bundles.class, err)
		}
		next := &recipe.Result{}
		next.Metadata.Name = cell.Recipe
		if name, want := read.RecipeName(), bundle.RecipeName(next); name != "" && name != want {
			return matrix.BaseBundle{}, cli.Usagef("--from %s is a bundle of recipe %s, and the upgrade is to %s; run %s, or give its own old bundle", f.before.from, name, cell.Recipe, name)
		}
		in := bundle.Input{Recipe: read.Resolved(cell.Recipe), Split: read.Split()}
		in.Components, in.Given = read.Components()
		return matrix.BaseBundle{Bundler: intake.NewDir(read), Input: in, Charts: recorded, Notes: []string{
			"what runs before: the bundle in " + dir + " has its charts by name and version, which were taken from " + made.Charts.Name(),
		}}, nil
	}
	return nil
}

// leaveUnchanged leaves out the upgrades from base of the recipes whose resolved bundle did not
// change since, as matrix discover does. The function that it returns names them on stderr, and
// those that the source does not have.
func (a *app) leaveUnchanged(ctx context.Context, f runFlags, runner *matrix.Runner) (tell func() error, err error) {
	if runner.From == nil {
		return func() error { return nil }, nil
	}
	upgrades := &discover.Upgrades{From: f.before.from}
	why := runner.From.Left
	if f.before.from == matrix.FromBase && f.bundles.app == "" {
		if upgrades.Diff, err = a.changesSince(ctx, "--from base", f.base, f.recipes, f.charts); err != nil {
			return nil, err
		}
		why = func(name string) (string, error) {
			_, why, err := upgrades.Reasons(runner.Store, name)
			return why, err
		}
	}
	without := map[string]string{}
	if why != nil {
		runner.From.Left = func(name string) (string, error) {
			left, err := why(name)
			if left != "" {
				without[name] = left
			}
			return left, err
		}
	}
	return func() error {
		for _, line := range upgrades.Left(without) {
			if _, err := fmt.Fprintln(a.Stderr, cli.Inert("note: "+line)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
