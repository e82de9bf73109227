// Package bundles has the commands for what is delivered: bundle and charts.
package bundles

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/preconditions"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// app is what the commands of this package share.
type app struct{ *cli.App }

// BundleCommand is `matrix bundle`.
func BundleCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
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
