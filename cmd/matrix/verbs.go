package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/preconditions"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

func (a *app) stackCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "stack", Short: "Build, pack, install and find the upstream binaries", Args: cobra.NoArgs, RunE: cli.NeedSubcommand}
	cmd.AddCommand(a.stackBuildCommand(), a.stackArchiveCommand(), a.stackInstallCommand(), a.stackPathCommand())
	return cmd
}

func (a *app) stackBuildCommand() *cobra.Command {
	var schedulers, helmfile bool
	var minor string
	cmd := &cobra.Command{
		Use: "build", Short: "Compile every binary of the stack that is not in the cache", Args: cobra.NoArgs,
		Long: `Compile every binary of the stack that is not in the cache. With --schedulers, compile the second schedulers and the controllers
instead, which are not part of the stack: ` + "`matrix workflow run`" + ` compiles one when a workflow needs it, which takes minutes. With
--helmfile, compile helmfile and the helm that it runs, which the lane helmfile needs. With --kubernetes, compile the control plane of
another minor version. Prints the directory.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			built, groups := a.Stack, stack.Groups()
			if schedulers {
				built, groups = a.Schedulers, stack.SchedulerGroups()
			}
			if helmfile {
				if err := a.buildFor(cmd.Context(), a.Stack, stack.GroupHelm); err != nil {
					return err
				}
				built, groups = a.Helmfile, stack.HelmfileGroups()
			}
			if minor != "" {
				var err error
				if built, err = a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, minor); err != nil {
					return err
				}
				groups = []stack.Group{stack.GroupControlPlane}
			}
			if err := a.buildFor(cmd.Context(), built, groups...); err != nil {
				return err
			}
			_, err := fmt.Fprintln(a.Stdout, built.Dir)
			return err
		},
	}
	cmd.Flags().BoolVar(&schedulers, "schedulers", false, "compile the second schedulers and controllers (coscheduling, Kueue, JobSet, Kubeflow Trainer)")
	cmd.Flags().BoolVar(&helmfile, "helmfile", false, "compile helmfile and its helm")
	cmd.Flags().StringVar(&minor, kubernetesFlag, "", "compile the control plane of this `minor` version, e.g. 1.34")
	cmd.MarkFlagsMutuallyExclusive("schedulers", "helmfile", kubernetesFlag)
	return cmd
}

// buildFor compiles parts of a list, with a Go that can.
func (a *app) buildFor(ctx context.Context, built *stack.Stack, groups ...stack.Group) error {
	if err := a.CheckGo(built, groups...); err != nil {
		return err
	}
	return built.Build(ctx, a.Progress, groups...)
}

func (a *app) bundleCommand() *cobra.Command {
	var f struct {
		deployer, to, output, chartRepository, repoURL, revision string
		charts                                                   []string
		plainHTTP, force, simulatedNodes                         bool
		scheduling                                               cli.SchedulingFlags
		recipes                                                  cli.RecipeDirs
	}
	cmd := &cobra.Command{
		Use: "bundle RECIPE", Short: "Write the files by which a deployer deploys a recipe", Args: cobra.ExactArgs(1),
		Long: `Write the files by which a deployer deploys a recipe.

Node selectors and tolerations are put at the value paths that the registry names for each component; without these flags a bundle has
what the recipe sets. With --simulated-nodes they are those of simulated nodes, as in the bundles of matrix run, which fit no other cluster.
README.md in the bundle lists everything that was injected.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to == "" {
				return cli.Usagef("--to: name a directory for the bundle")
			}
			deployer, err := cli.OneDeployer(f.deployer)
			if err != nil {
				return err
			}
			scheduling, err := f.scheduling.Scheduling()
			if err != nil {
				return err
			}
			if f.simulatedNodes {
				for _, name := range cli.SchedulingFlagNames() {
					if cmd.Flags().Changed(name) {
						return cli.Usagef("--simulated-nodes and --%s cannot be used together: simulated nodes have labels and taints of their own", name)
					}
				}
				scheduling = bundle.KwokScheduling()
			}
			in, err := a.bundleInput(cmd.Context(), args[0], f.recipes, f.charts)
			if err != nil {
				return err
			}
			in.Scheduling = scheduling
			if err := preconditions.Check(in.Recipe, in.Components, preconditions.Asked{SystemSelector: len(scheduling.SystemNodeSelector) > 0, AcceleratedSelector: len(scheduling.AcceleratedNodeSelector) > 0, AcceleratedTolerations: scheduling.AcceleratedTolerations}); err != nil {
				return reason.Wrap(reason.BundleFailed, err)
			}
			in.ChartRepository, in.PlainHTTP, in.RepoURL = f.chartRepository, f.plainHTTP, f.repoURL
			b, in, err := cli.MakeBundle(cmd.Context(), deployer, in, "--repo-url", f.revision)
			if err != nil {
				return err
			}
			if err := b.WriteTo(f.to, f.force); err != nil {
				return reason.Wrap(reason.Usage, err)
			}
			return a.TellBundle(b, in, f.to, f.output)
		},
	}
	cmd.Flags().StringVarP(&f.deployer, "deployer", "d", "helm", "deployer: one of "+strings.Join(bundle.Names(), ", "))
	cli.ToFlag(cmd, &f.to, &f.output, "`directory` to write to; it must be empty or absent")
	cmd.Flags().BoolVar(&f.force, "force", false, "write into a directory that is not empty; files of the same name are replaced")
	cli.ChartsFlag(cmd, &f.charts, "chart `source` for checking that the values render: auto (upstream where the recipes have a charts.lock, else simulated), simulated, simulated-any-version, upstream, direct, or a directory; repeat it for a list")
	cmd.Flags().StringVar(&f.chartRepository, "chart-repository", "", "take every chart from this `oci://` repository instead of its own")
	cmd.Flags().StringVar(&f.repoURL, "repo-url", "", "`address` where the bundle will be published: oci://, or https:// for one that is pushed to Git (GitOps deployers)")
	cmd.Flags().StringVar(&f.revision, "revision", "", "`tag` under which the bundle will be published (default: from its content)")
	cmd.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "use HTTP, not HTTPS, for registries")
	f.scheduling.Register(cmd.Flags())
	cmd.Flags().BoolVar(&f.simulatedNodes, "simulated-nodes", false, "inject the node selectors and tolerations of simulated nodes, as matrix run does")
	cli.RecipesFlags(cmd, &f.recipes)
	return cmd
}

func (a *app) bundleInput(ctx context.Context, name string, recipes cli.RecipeDirs, chartSources []string) (bundle.Input, error) {
	store, _, err := a.Recipes(recipes)
	if err != nil {
		return bundle.Input{}, err
	}
	result, err := store.ResolveName(name)
	if err != nil {
		return bundle.Input{}, &reason.Error{Reason: reason.Usage, Err: err}
	}
	components, err := store.Components(result)
	if err != nil {
		return bundle.Input{}, &reason.Error{Reason: reason.Usage, Err: err}
	}
	source, err := a.Charts(chartSources, recipes.Recipes)
	if err != nil {
		return bundle.Input{}, err
	}
	if err := a.PullCharts(ctx, source, [][]charts.Pin{charts.Pins(components)}); err != nil {
		return bundle.Input{}, err
	}
	return bundle.Input{Recipe: result, Components: components, Charts: source, KubeVersion: a.Stack.KubeVersion(), APIs: bundle.StackAPIs()}, nil
}

func (a *app) explainCommand() *cobra.Command {
	return a.ExplainCommand(cli.Explained{Rows: reason.Table(), Markdown: true, Story: failureStory, Check: explainCheck, CheckNames: checkNames(), ChecksMarkdown: checksMarkdown})
}

func (a *app) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "version", Short: "Print all pinned versions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.version(cmd.Context(), output) },
	}
	cli.OutputFlag(cmd, &output)
	return cmd
}

func (a *app) version(_ context.Context, output string) error {
	others, err := a.controlPlanes()
	if err != nil {
		return err
	}
	v := struct {
		cli.Build
		Stack []stack.PartVersion `json:"stack"`
		Path  string              `json:"stackPath"`
		// Kubernetes are the control planes that --kubernetes chooses from.
		Kubernetes []controlPlane `json:"kubernetes"`
	}{Build: cli.BuildOf(released), Kubernetes: others, Stack: slices.Concat(a.Stack.Versions(), a.Schedulers.Versions(), a.Helmfile.Versions()), Path: a.Stack.Dir}
	if output == cli.AsJSON {
		return cli.PrintJSON(a.Stdout, v)
	}
	rows := [][]string{{"matrix", v.Version, v.Revision}, {"go", v.Go, v.Platform}}
	for _, p := range v.Stack {
		built := "not built yet"
		if p.Built {
			built = "built"
		}
		rows = append(rows, []string{p.Name, p.Version, built})
	}
	var minors []string
	for _, k := range v.Kubernetes {
		minors = append(minors, k.Minor+" ("+k.Version+")")
	}
	_, err = io.WriteString(a.Stdout, cli.Table(rows)+"stack: "+v.Path+"\nmatrix run --kubernetes: "+strings.Join(minors, ", ")+"\n")
	return err
}
