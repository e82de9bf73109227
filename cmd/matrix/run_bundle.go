package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/foreign"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// bundlerFlags select the program that makes the bundles.
type bundlerFlags struct {
	bundler, aicr, dir   string
	aicrPath             string // the older name of aicr
	checkout             string // of AICR, from which the CLI is built
	service, accelerator string
}

// The values of --bundler.
const (
	builtinBundler = "builtin"
	execBundler    = "exec"
)

// buildAICR is the value of --aicr that stands for the CLI of the checkout.
const buildAICR = "build"

func (f *bundlerFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.bundler, "bundler", "", "who makes the bundles: builtin, or exec, which is AICR's own CLI (default: exec where the recipes are in a checkout of AICR that has the CLI, else builtin)")
	cmd.Flags().StringVar(&f.aicr, "aicr", "", "AICR's CLI, for --bundler exec: a `path`, a name to find in PATH, or build, which builds ./cmd/aicr of the recipes' checkout")
	cmd.Flags().StringVar(&f.aicrPath, "aicr-path", "", "the older name of --aicr")
	if err := cmd.Flags().MarkHidden("aicr-path"); err != nil {
		panic(err) // the flag is defined on the line above
	}
	cmd.Flags().StringVar(&f.dir, "bundle-dir", "", "run the bundle in this `directory` through the one lane of --deployer; RECIPE is only its name (default: that of its recipe.yaml)")
	cmd.Flags().StringVar(&f.service, "service", "", "with --bundle-dir: the `service` whose nodes are simulated, e.g. eks")
	cmd.Flags().StringVar(&f.accelerator, "accelerator", "", "with --bundle-dir: the `accelerator` of these nodes (default: any)")
}

// foreign: this program does not make the bundles.
func (f bundlerFlags) foreign() bool { return f.dir != "" || f.bundler == execBundler }

// settle fills in what follows from the other flags: a CLI means --bundler exec, and so does a
// checkout of AICR around the recipes.
func (f *bundlerFlags) settle(recipesDir string) error {
	if f.aicrPath != "" && f.aicr != "" {
		return cli.Usagef("--aicr-path is the older name of --aicr; pass one of them")
	}
	f.aicr = cli.FirstOf(f.aicr, f.aicrPath)
	root, ok := "", false
	if recipesDir != "" {
		root, ok = foreign.Checkout(recipesDir)
	}
	switch {
	case f.bundler == "" && f.dir != "":
		f.bundler = builtinBundler
	case f.bundler == "" && (f.aicr != "" || ok):
		f.bundler = execBundler
	case f.bundler == "":
		f.bundler = builtinBundler
	}
	if f.bundler == execBundler && f.aicr == "" && ok {
		f.aicr = buildAICR
	}
	if f.aicr == buildAICR {
		if f.checkout = root; !ok {
			return cli.Usagef("--aicr build: the recipes are in no checkout of AICR with its CLI: want a go.mod of AICR and cmd/aicr beside the recipes directory (--recipes-dir DIR); or pass the path of a CLI")
		}
	}
	return nil
}

// check refuses flags that do not go together.
func (f bundlerFlags) check(args []string, run runFlags) error {
	switch {
	case f.bundler != builtinBundler && f.bundler != execBundler:
		return cli.Usagef("--bundler %q: want builtin or exec", f.bundler)
	case f.bundler == execBundler && f.dir != "":
		return cli.Usagef("--bundle-dir and --bundler exec exclude each other: a bundle is there already, or AICR's CLI makes it")
	case f.bundler == execBundler && f.aicr == "":
		return cli.Usagef("--bundler exec needs AICR's CLI: pass --aicr PATH, or --aicr build with the recipes of a checkout")
	case f.bundler != execBundler && f.aicr != "":
		return cli.Usagef("--aicr %s is for --bundler exec, and the bundler is %s", f.aicr, f.bundler)
	case f.dir == "" && f.service+f.accelerator != "":
		return cli.Usagef("--service and --accelerator choose the nodes for --bundle-dir; a recipe has its own criteria")
	case f.foreign() && len(run.charts) == 1 && run.charts[0] == charts.DirectName:
		return cli.Usagef("--charts direct is for this program's own bundles; another's bundle gets its charts from the cell's registry. Use --charts upstream, which has the same charts")
	case f.foreign() && run.reuse != "":
		return cli.Usagef("--reuse knows what this program's own bundles are made of, and not what another program's are; leave it out with --bundler exec and --bundle-dir")
	case f.dir == "":
		return nil
	}
	for flag, given := range map[string]bool{
		"--all": run.all, "--tier": run.tiers != nil, "--base": run.base != "", "--shard": run.shard != "", "--checks": run.checks, "--probes": run.probes, "--validate": run.validate != "",
		"--data": run.recipes.Data != "",
	} {
		if given {
			return cli.Usagef("%s is about recipes, and --bundle-dir runs one bundle without any; leave it out", flag)
		}
	}
	lanes, names := cli.SplitList(run.deployers), cli.SplitList(args)
	switch {
	case len(lanes) != 1 || lanes[0] == "all":
		return cli.Usagef("--bundle-dir is one bundle for one lane: pass --deployer with one of %s, for which it was made", strings.Join(bundle.AICRNames(recipe.July), ", "))
	case len(names) > 1:
		return cli.Usagef("--bundle-dir is one bundle, and has one name; got %s", strings.Join(names, ", "))
	case f.service == "":
		return cli.Usagef("--bundle-dir needs --service (and --accelerator, if it matters): a bundle does not say which nodes it is for")
	}
	return nil
}

// openBundler makes what gives cells their bundles; nil if this program makes them. For
// --bundle-dir it also plans the one cell.
func (a *app) openBundler(ctx context.Context, args []string, run runFlags, d bundle.Deployer) (b matrix.Bundler, plan func(*matrix.Runner) ([]matrix.Plan, error), err error) {
	f := run.bundles
	switch {
	case f.bundler == execBundler:
		path := f.aicr
		if f.checkout != "" {
			t := a.Progress.Begin("Building AICR's CLI of " + f.checkout)
			built, err := foreign.Build(ctx, f.checkout, a.Paths.Root)
			t.End("", err)
			if err != nil {
				return nil, nil, reason.Wrap(reason.Usage, err)
			}
			path = built
		}
		e, err := foreign.NewExec(ctx, path, a.DataDirectory(run.recipes.Data), func(name string) (string, bool) {
			value := a.Getenv(name)
			return value, value != ""
		})
		if err != nil {
			return nil, nil, reason.Wrap(reason.Usage, err)
		}
		e.Compared = a.RecipesDirectory(run.recipes.Recipes) != ""
		return e, nil, nil
	case f.dir == "":
		return nil, nil, nil
	}
	read, err := foreign.Open(ctx, f.dir, d)
	if err != nil {
		return nil, nil, reason.Wrap(reason.Usage, err)
	}
	name := read.RecipeName()
	if names := cli.SplitList(args); len(names) == 1 {
		name = names[0]
		if clean := bundle.RecipeName(read.Resolved(name)); clean != name {
			return nil, nil, cli.Usagef("%q cannot name a bundle: use lower-case letters, digits and dashes, e.g. %s", name, clean)
		}
	}
	if name == "" {
		return nil, nil, cli.Usagef("the bundle in %s has no recipe.yaml that names its recipe: pass a name, as in matrix run NAME --bundle-dir %s", f.dir, f.dir)
	}
	in := bundle.Input{Recipe: read.Resolved(name)}
	in.Components, in.Given = read.Components()
	return foreign.NewDir(read), func(r *matrix.Runner) ([]matrix.Plan, error) {
		p, err := r.PlanBundle(d, in, f.service, f.accelerator)
		return []matrix.Plan{p}, err
	}, nil
}

// rerun are the flags that run a cell again in the same way.
func (f bundlerFlags) rerun() []string {
	var parts []string
	for _, flag := range []struct{ name, value string }{
		{"--aicr", f.aicr}, {"--bundle-dir", f.dir}, {"--service", f.service}, {"--accelerator", f.accelerator},
	} {
		if flag.value != "" {
			parts = append(parts, flag.name, flag.value)
		}
	}
	if f.bundler == execBundler {
		parts = append([]string{"--bundler", execBundler}, parts...)
	}
	return parts
}
