package clusters

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// StackCommand is `matrix stack`.
func StackCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	cmd := &cobra.Command{Use: "stack", Short: "Get, pack, install, find and pin the upstream binaries", Args: cobra.NoArgs, RunE: cli.NeedSubcommand}
	cmd.AddCommand(a.stackBuildCommand(), a.stackArchiveCommand(), a.stackInstallCommand(), a.stackPathCommand(), a.stackLockCommand())
	return cmd
}

func (a *app) stackBuildCommand() *cobra.Command {
	var schedulers, helmfile bool
	var minor string
	cmd := &cobra.Command{
		Use: "build", Short: "Get every binary of the stack that is not in the cache", Args: cobra.NoArgs,
		Long: `Get every binary of the stack that is not in the cache, from where --stack says. With --schedulers, get the second schedulers and the controllers
instead, which are not part of the stack: ` + "`matrix workflow run`" + ` compiles one when a workflow needs it, which takes minutes. With
--helmfile, compile helmfile and the Helm 3 and 4 that it runs, which the lane helmfile needs. With --kubernetes, compile the control plane of
another minor version. Prints the directory.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			built, groups := a.Stack, stack.Groups()
			if schedulers {
				built, groups = a.Schedulers, stack.SchedulerGroups()
			}
			if helmfile {
				if err := a.buildFor(cmd.Context(), a.Stack, stack.GroupHelm, stack.GroupHelm4); err != nil {
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
	cmd.Flags().BoolVar(&helmfile, "helmfile", false, "compile helmfile and the Helm 3 and 4 that it runs")
	cmd.Flags().StringVar(&minor, platform.KubernetesFlag, "", "compile the control plane of this `minor` version, e.g. 1.34")
	cmd.MarkFlagsMutuallyExclusive("schedulers", "helmfile", platform.KubernetesFlag)
	return cmd
}

// buildFor compiles parts of a list, with a Go that can.
func (a *app) buildFor(ctx context.Context, built *stack.Stack, groups ...stack.Group) error {
	if err := a.CheckGo(built, groups...); err != nil {
		return err
	}
	return built.Build(ctx, a.Progress, groups...)
}
