package clusters

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// NodesCommand is `matrix nodes`.
func NodesCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var name, profiles, from string
	var recipes cli.RecipeDirs
	cmd := &cobra.Command{
		Use: "nodes RECIPE|--from FILE", Short: "Create a recipe's nodes, or virtual nodes from a file, on a persistent cluster", Args: cobra.MaximumNArgs(1),
		Long: `Create nodes that KWOK simulates on a persistent cluster: those that a recipe is verified on, or those of a file in the values format of
charts/virtual-nodes, which is Knavigator's: nodes, each with type, count, and as needed annotations, labels, resources and conditions.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (from == "") == (len(args) == 0) {
				return cli.Usagef("name a recipe, or a file with --from; give one of them; see `matrix nodes --help`")
			}
			nodes, err := a.wantedNodes(args, from, profiles, recipes)
			if err != nil {
				return err
			}
			picked, err := a.ClusterName(name)
			if err != nil {
				return err
			}
			state, err := embedded.FindCluster(a.Paths, picked)
			if err != nil {
				return reason.Wrap(reason.Usage, err)
			}
			clients, err := infra.NewClients(state.Kubeconfig())
			if err != nil {
				return err
			}
			if from == "" {
				err = simulate.EnsureNodes(cmd.Context(), clients, nodes)
			} else {
				t := a.Progress.Begin(fmt.Sprintf("Making %d virtual nodes", len(nodes)))
				_, err = workflow.EnsureVirtualNodes(cmd.Context(), clients, nodes, virtualNodesBudget, t.Update)
				t.End("", err)
				err = reason.Wrap(reason.NodesFailed, err)
			}
			if err != nil {
				return err
			}
			for _, n := range nodes {
				if _, err := fmt.Fprintf(a.Stdout, "node/%s\n", n.Name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cli.NameFlag(cmd, &name)
	cli.RecipesFlags(cmd, &recipes)
	cli.ProfilesFlag(cmd, &profiles)
	cmd.Flags().StringVar(&from, "from", "", "`file` of virtual nodes, in the values format of charts/virtual-nodes")
	return cmd
}

// virtualNodesBudget is for thousands of nodes on a busy machine.
const virtualNodesBudget = 10 * time.Minute

// wantedNodes are the nodes of a recipe or of a file of virtual nodes.
func (a *app) wantedNodes(args []string, from, profiles string, recipes cli.RecipeDirs) ([]*corev1.Node, error) {
	if from != "" {
		groups, err := workflow.ReadFile(from)
		if err != nil {
			return nil, cli.WrapUsage(err)
		}
		return workflow.VirtualNodes(groups), nil
	}
	store, _, err := a.Recipes(recipes)
	if err != nil {
		return nil, err
	}
	result, err := store.ResolveName(args[0])
	if err != nil {
		return nil, &reason.Error{Reason: reason.Usage, Err: err}
	}
	return a.nodesFor(profiles, a.RecipesDirectory(recipes.Recipes), result.Criteria.Service, result.Criteria.Accelerator)
}
