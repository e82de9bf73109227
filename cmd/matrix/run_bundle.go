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
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// bundlerFlags say who makes the bundles.
type bundlerFlags struct {
	bundler, aicrPath, dir string
	service, accelerator   string
}

// The values of --bundler.
const (
	builtinBundler = "builtin"
	execBundler    = "exec"
)

func (f *bundlerFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.bundler, "bundler", builtinBundler, "who makes the bundles: builtin, or exec, which is AICR's own CLI (--aicr-path)")
	cmd.Flags().StringVar(&f.aicrPath, "aicr-path", "", "AICR's CLI, for --bundler exec: a `path`, or a name to find in PATH")
	cmd.Flags().StringVar(&f.dir, "bundle-dir", "", "run the bundle in this `directory` through the one lane of --deployer; RECIPE is only its name (default: that of its recipe.yaml)")
	cmd.Flags().StringVar(&f.service, "service", "", "with --bundle-dir: the `service` whose nodes are simulated, e.g. eks")
	cmd.Flags().StringVar(&f.accelerator, "accelerator", "", "with --bundle-dir: the `accelerator` of these nodes (default: any)")
}

// foreign: this program does not make the bundles.
func (f bundlerFlags) foreign() bool { return f.dir != "" || f.bundler == execBundler }

// check refuses flags that do not go together.
func (f bundlerFlags) check(args []string, run runFlags) error {
	switch {
	case f.bundler != builtinBundler && f.bundler != execBundler:
		return cli.Usagef("--bundler %q: want builtin or exec", f.bundler)
	case f.bundler == execBundler && f.dir != "":
		return cli.Usagef("--bundle-dir and --bundler exec exclude each other: a bundle is there already, or AICR's CLI makes it")
	case f.bundler == execBundler && f.aicrPath == "":
		return cli.Usagef("--bundler exec needs AICR's CLI: pass --aicr-path PATH")
	case f.bundler != execBundler && f.aicrPath != "":
		return cli.Usagef("--aicr-path %s is for --bundler exec, which is not given", f.aicrPath)
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
		return cli.Usagef("--bundle-dir is one bundle for one lane: pass --deployer with one of %s, for which it was made", strings.Join(bundle.AICRNames(), ", "))
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
		e, err := foreign.NewExec(ctx, f.aicrPath, a.DataDirectory(run.recipes.Data), func(name string) (string, bool) {
			value := a.Getenv(name)
			return value, value != ""
		})
		if err != nil {
			return nil, nil, reason.Wrap(reason.Usage, err)
		}
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
		{"--aicr-path", f.aicrPath}, {"--bundle-dir", f.dir}, {"--service", f.service}, {"--accelerator", f.accelerator},
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
