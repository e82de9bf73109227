package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/intake/aicrcli"
	appdir "github.com/nvidia/aicr-action/internal/intake/app"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// bundlerFlags select the program that makes the bundles.
type bundlerFlags struct {
	bundler, aicr, dir   string
	aicrArgs             []string
	aicrPath             string // the older name of aicr
	checkout             string // of AICR, from which the CLI is built
	commit               string // whose files the checkout has; empty for a working tree
	service, accelerator string
	// app is the path of what is run without recipes; values are files for it if it is a chart. found
	// is what settle found there.
	app    string
	values []string
	// namespace is that of the chart's release.
	namespace string
	// environment is that of a helmfile.
	environment string
	found       *appdir.App
	existing    existingFlags
	// selects are the patterns of the apps of app that run.
	selects []string
	class   string // of a split set
	split   bool
	// since is what the apps that run have changed since; empty for all.
	since, base string
	sinceGiven  bool
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
	cmd.Flags().StringArrayVar(&f.aicrArgs, "aicr-args", nil, "further `arguments` for AICR's CLI, as \"recipe --runtime-inventory=enabled\" or \"bundle --serial\", or @FILE, which has them by recipe (repeatable)")
	cmd.Flags().StringVar(&f.aicrPath, "aicr-path", "", "the older name of --aicr")
	if err := cmd.Flags().MarkHidden("aicr-path"); err != nil {
		panic(err) // the flag is defined on the line above
	}
	cmd.Flags().StringVar(&f.dir, "bundle-dir", "", "run the bundle in this `directory` through the one lane of --deployer; RECIPE is only its name (default: that of its recipe.yaml)")
	cmd.Flags().BoolVar(&f.split, "split", false, "in the lanes argocd-oci and argocd-git, deliver the components of the classes core and ops (class in registry.yaml) by a root Application each, with retry, of which neither waits for the other")
	cmd.Flags().StringVar(&f.class, "class", "", "with --bundle-dir and a split set: core, which runs that half alone, or all (default: all)")
	cmd.Flags().StringVar(&f.app, "app", "", "run what is at this `path`, without recipes: Applications of Argo CD, HelmReleases and Kustomizations of Flux, a helmfile.yaml, a chart, or manifests; RECIPE is only its name (default: that of the path)")
	cmd.Flags().StringArrayVar(&f.values, "values", nil, "with --app and a chart: `file` of values (repeatable; later ones win)")
	cmd.Flags().StringVar(&f.namespace, "namespace", "", "with --app and a chart: the `namespace` of its release, as of helm install (default: default)")
	cmd.Flags().StringVar(&f.environment, "environment", "", "with --app and a helmfile: its `environment`, as of helmfile --environment (default: default)")
	cmd.Flags().StringSliceVar(&f.selects, "select", nil, "with --app: of Applications, HelmReleases or a helmfile, those of a `NAME`, KIND/NAME or namespace=NAMESPACE only (* stands for any text; with what they depend on)")
	cmd.Flags().StringVar(&f.since, sinceFlag, "", "with --app: only apps that have changed since this `source`, a Git ref, base (of the pull request) or the path of an older state, and those that depend on them")
	f.existing.register(cmd)
	cmd.Flags().StringVar(&f.service, "service", "", "with --bundle-dir and --app: the `service` whose nodes are simulated, e.g. eks (default: that of the bundle's recipe.yaml; with --app kind)")
	cmd.Flags().StringVar(&f.accelerator, "accelerator", "", "with --bundle-dir and --app: the `accelerator` of these nodes (default: any)")
}

// foreign: this program does not make the bundles.
func (f bundlerFlags) foreign() bool { return f.one() != "" || f.bundler == execBundler }

// one is the flag that names the one thing to run, without recipes; empty if recipes are run.
func (f bundlerFlags) one() string {
	switch {
	case f.dir != "":
		return "--bundle-dir"
	case f.app != "":
		return "--app"
	}
	return ""
}

// settle fills in what follows from the other flags: a CLI means --bundler exec, and so does a
// checkout of AICR around the recipes.
func (f *bundlerFlags) settle(recipesDir string) error {
	if f.aicrPath != "" && f.aicr != "" {
		return cli.Usagef("--aicr-path is the older name of --aicr; pass one of them")
	}
	f.aicr = cli.FirstOf(f.aicr, f.aicrPath)
	root, ok := "", false
	if recipesDir != "" {
		root, ok = aicrcli.FindCheckout(recipesDir)
	}
	switch {
	case f.bundler == "" && f.one() != "":
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
	case f.dir != "" && f.app != "":
		return cli.Usagef("--bundle-dir and --app exclude each other: pass the one that is to run")
	case f.bundler == execBundler && f.one() != "":
		return cli.Usagef("%s and --bundler exec exclude each other: what is run is there already, or AICR's CLI makes it", f.one())
	case f.bundler == execBundler && f.aicr == "":
		return cli.Usagef("--bundler exec needs AICR's CLI: pass --aicr PATH, or --aicr build with the recipes of a checkout")
	case f.bundler != execBundler && f.aicr != "":
		return cli.Usagef("--aicr %s is for --bundler exec, and the bundler is %s", f.aicr, f.bundler)
	case f.bundler != execBundler && len(f.aicrArgs) > 0:
		return cli.Usagef("--aicr-args is for AICR's CLI, --bundler exec, and the bundler is %s", f.bundler)
	case f.one() == "" && f.service+f.accelerator != "":
		return cli.Usagef("--service and --accelerator choose the nodes for --bundle-dir and --app; a recipe has its own criteria")
	case f.app == "" && f.namespace != "":
		return cli.Usagef("--namespace is for --app with a chart; the releases of a recipe or a bundle have their own")
	case f.app == "" && len(f.selects) > 0:
		return cli.Usagef("--select is for --app; name the recipes that are to run")
	case f.app == "" && f.sinceGiven:
		return cli.Usagef("--%s is for --app; --tier auto runs the recipes that a change needs", sinceFlag)
	case f.sinceGiven && strings.TrimSpace(f.since) == "":
		return cli.Usagef("--%s is empty: give a Git branch, tag or commit, base, or the path of an older state; without the flag all apps run", sinceFlag)
	case f.app == "" && f.environment != "":
		return cli.Usagef("--environment is for --app with a helmfile")
	case f.app == "" && len(f.values) > 0:
		return cli.Usagef("--values is for --app with a chart; a recipe has its own values")
	case f.app == "" && slices.Contains(run.charts, charts.UnlockedName):
		return cli.Usagef("--charts %s is for --app; the charts of recipes and bundles are pinned by charts.lock (matrix charts lock), which --charts %s reads", charts.UnlockedName, charts.UpstreamName)
	case f.foreign() && len(run.charts) == 1 && run.charts[0] == charts.DirectName:
		return cli.Usagef("--charts direct is for this program's own bundles; another's bundle gets its charts from the cell's registry. Use --charts upstream, which has the same charts")
	case f.foreign() && run.reuse != "":
		return cli.Usagef("--reuse knows what this program's own bundles are made of, and not what another program's are; leave it out with --bundler exec, --bundle-dir and --app")
	case f.split && f.foreign():
		return cli.Usagef("--split is for this program's own bundles, and AICR's CLI splits those for Helm only: run what aicr bundle --split writes with --bundle-dir, or pass --bundler %s", builtinBundler)
	case f.split && slices.ContainsFunc(cli.SplitList(run.deployers), func(d string) bool { return d != bundle.ArgoCDOCI && d != bundle.ArgoCDGit }):
		return cli.Usagef("--split is for the lanes %[1]s and %[2]s: pass --deployer %[1]s,%[2]s; the lane %s runs what aicr bundle --split writes, with --bundle-dir", bundle.ArgoCDOCI, bundle.ArgoCDGit, bundle.Helm)
	case f.class != "" && f.dir == "":
		return cli.Usagef("--class is for --bundle-dir with a split set; without one, choose components with enabled: false")
	case f.one() == "":
		return nil
	}
	return f.checkOne(args, run)
}

// checkOne refuses flags that are about recipes, where none is run.
func (f bundlerFlags) checkOne(args []string, run runFlags) error {
	for flag, given := range map[string]bool{
		"--all": run.all, "--tier": run.tiers != nil, "--base": run.base != "" && f.since != matrix.FromBase && run.before.from != matrix.FromBase, "--shard": run.shard != "", "--checks": run.checks, "--probes": run.probes, "--validate": run.validate != "",
		"--data": run.recipes.Data != "", "--profile": run.profile != "",
	} {
		if given {
			return cli.Usagef("%s is about recipes, and %s runs without any; leave it out", flag, f.one())
		}
	}
	lanes, names := cli.SplitList(run.deployers), cli.SplitList(args)
	switch {
	case len(names) > 1:
		return cli.Usagef("%s runs one cell, which has one name; got %s", f.one(), strings.Join(names, ", "))
	case f.app != "" && len(lanes) != 1:
		return cli.Usagef("--app runs in one lane; leave out --deployer for the one of what is there, or name one; got %s", strings.Join(lanes, ", "))
	case f.app != "":
		return nil
	case len(lanes) != 1 || lanes[0] == "all":
		return cli.Usagef("--bundle-dir is one bundle for one lane: pass --deployer with one of %s, for which it was made", strings.Join(bundle.AICRNames(recipe.July), ", "))
	}
	return nil
}

// nodesOf are the service and the accelerator whose nodes a bundle gets: those of the flags, or else those
// of its recipe.yaml. Reason: USAGE.
func (f bundlerFlags) nodesOf(read *intake.Bundle, name string) (service, accelerator string, err error) {
	if f.service != "" {
		return f.service, f.accelerator, nil
	}
	set := func(criterion string) string {
		if criterion == "any" {
			return ""
		}
		return criterion
	}
	c := read.Resolved(name).Criteria
	if service = set(c.Service); service == "" {
		return "", "", cli.Usagef("--bundle-dir needs --service (and --accelerator, if it matters): the bundle in %s has no recipe.yaml that sets a service, and so does not say which nodes it is for", f.dir)
	}
	return service, cli.FirstOf(f.accelerator, set(c.Accelerator)), nil
}

// openBundler makes what gives cells their bundles; nil if this program makes them. For
// --bundle-dir it also plans the one cell. store has the recipes; nil where none are read.
func (a *app) openBundler(ctx context.Context, args []string, run runFlags, d bundle.Deployer, store *recipe.Store) (b matrix.Bundler, plan func(*matrix.Runner) ([]matrix.Plan, error), err error) {
	f := run.bundles
	f.base = run.base
	switch {
	case f.bundler == execBundler:
		given, err := argsFor(f.aicrArgs, store)
		if err != nil {
			return nil, nil, reason.Wrap(reason.Usage, err)
		}
		e, err := a.openExec(ctx, f, a.DataDirectory(run.recipes.Data))
		if err != nil {
			return nil, nil, reason.Wrap(reason.Usage, err)
		}
		e.Args = given
		if e.Compared = a.RecipesDirectory(run.recipes.Recipes) != ""; store != nil {
			e.Recipes = store
		}
		return e, nil, nil
	case f.app != "":
		f.found.UnsetIsEmpty = run.platform.Flux != "" && !stack.IsStrictFlux(run.platform.Flux)
		return a.openApp(ctx, args, f, d)
	case f.dir == "":
		return nil, nil, nil
	}
	read, err := intake.Open(ctx, f.dir, d)
	if err != nil {
		return nil, nil, reason.Wrap(reason.Usage, err)
	}
	if err := read.Only(f.class); err != nil {
		return nil, nil, cli.Usagef("--class %s: %w", f.class, err)
	}
	name, err := oneName(args, read.RecipeName())
	if err != nil {
		return nil, nil, err
	}
	if name == "" {
		return nil, nil, cli.Usagef("the bundle in %s has no recipe.yaml that names its recipe: pass a name, as in matrix run NAME --bundle-dir %s", f.dir, f.dir)
	}
	service, accelerator, err := f.nodesOf(read, name)
	if err != nil {
		return nil, nil, err
	}
	return intake.NewJudgedDir(read, a.recipesOfBundle(run)), planOne(read, name, d, service, accelerator), nil
}

// openExec is AICR's CLI. That of a checkout is built later, when the recipes are known to be there.
func (a *app) openExec(ctx context.Context, f bundlerFlags, data string) (*intake.Exec, error) {
	lookup := func(name string) (string, bool) {
		value := a.Getenv(name)
		return value, value != ""
	}
	if f.checkout == "" {
		return intake.NewExec(ctx, f.aicr, data, lookup)
	}
	if err := aicrcli.NeedGo(); err != nil {
		return nil, err
	}
	return intake.NewBuiltExec(func(ctx context.Context) (string, error) {
		t := a.Progress.Begin("Building AICR's CLI of " + cli.FirstOf(f.commit, f.checkout))
		path, err := aicrcli.Build(ctx, f.checkout, f.commit, a.Paths.Root)
		t.End("", err)
		return path, reason.Wrap(reason.BundleFailed, err)
	}, data, lookup)
}

// argsFor reads --aicr-args. A file may name recipes of the store only.
func argsFor(values []string, store *recipe.Store) (aicrcli.Args, error) {
	args, err := aicrcli.ParseArgs(values)
	if err != nil {
		return args, fmt.Errorf("--aicr-args: %w", err)
	}
	for _, name := range args.Recipes() {
		if _, ok := store.Overlay(name); !ok {
			return args, fmt.Errorf("--aicr-args: there is no recipe %q%s", name, lists.Tail(name, store.Names()))
		}
	}
	return args, nil
}

// recipesOfBundle are the recipes that a bundle is held against: those that the user names, or works in.
func (a *app) recipesOfBundle(run runFlags) intake.Recipes {
	if a.RecipesDirectory(run.recipes.Recipes) == "" {
		return nil
	}
	store, _, err := a.Recipes(run.recipes)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		_, _ = fmt.Fprintf(a.Stderr, "warning: the bundle is held against its recipe.yaml alone, since the recipes cannot be read: %s\n", cli.Inert(first))
		return nil
	}
	return store
}

// oneName is the name of the one cell: that of the arguments, else own.
func oneName(args []string, own string) (string, error) {
	names := cli.SplitList(args)
	if len(names) == 0 {
		return own, nil
	}
	r := &recipe.Result{}
	r.Metadata.Name = names[0]
	if clean := bundle.RecipeName(r); clean != names[0] {
		return "", cli.Usagef("%q cannot name a bundle: use lower-case letters, digits and dashes, e.g. %s", names[0], clean)
	}
	return names[0], nil
}

// planOne plans the cell of a bundle, and that of its upgrade.
func planOne(read *intake.Bundle, name string, d bundle.Deployer, service, accelerator string) func(*matrix.Runner) ([]matrix.Plan, error) {
	in := bundle.Input{Recipe: read.Resolved(name), Split: read.Split()}
	in.Components, in.Given = read.Components()
	return func(r *matrix.Runner) ([]matrix.Plan, error) {
		p, err := r.PlanBundle(d, in, service, accelerator)
		if err != nil {
			return nil, err
		}
		upgrades, err := r.PlanUpgrades(name, []matrix.Plan{p})
		return append([]matrix.Plan{p}, upgrades...), err
	}
}

// rerun are the flags that run a cell again in the same way.
func (f bundlerFlags) rerun() []string {
	parts := f.existing.rerun()
	for _, pattern := range f.selects {
		parts = append(parts, "--select", pattern)
	}
	if f.since != "" {
		parts = append(parts, "--"+sinceFlag, f.since)
	}
	for _, flag := range []struct{ name, value string }{
		{"--aicr", f.aicr}, {"--bundle-dir", f.dir}, {"--class", f.class}, {"--app", f.app}, {"--namespace", f.namespace}, {"--environment", f.environment}, {"--service", f.service}, {"--accelerator", f.accelerator},
	} {
		if flag.value != "" {
			parts = append(parts, flag.name, flag.value)
		}
	}
	if f.split {
		parts = append(parts, "--split")
	}
	for _, file := range f.values {
		parts = append(parts, "--values", file)
	}
	for _, more := range f.aicrArgs {
		parts = append(parts, "--aicr-args", more)
	}
	if f.bundler == execBundler {
		parts = append([]string{"--bundler", execBundler}, parts...)
	}
	return parts
}
