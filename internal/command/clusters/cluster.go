// Package clusters has the commands for persistent clusters, and for the programs and images that
// clusters are made of: cluster, nodes, stack and images.
package clusters

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/kind"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// app is what the commands of this package share.
type app struct{ *cli.App }

// ClusterCommand is `matrix cluster`.
func ClusterCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	cmd := &cobra.Command{Use: "cluster", Short: "Create, list and remove persistent clusters", Args: cobra.NoArgs, RunE: cli.NeedSubcommand}
	var name string
	withName := func(c *cobra.Command) *cobra.Command {
		cli.NameFlag(c, &name)
		return c
	}
	on := func(do func(ctx context.Context, name string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			picked, err := a.ClusterName(name)
			if err != nil {
				return err
			}
			return do(cmd.Context(), picked)
		}
	}
	var noNodes bool
	var profiles string
	var stages []string
	up := &cobra.Command{
		Use: "up", Short: "Create a persistent cluster, usable with plain kubectl and helm", Args: cobra.NoArgs,
		RunE: on(func(ctx context.Context, name string) error {
			return a.clusterUp(ctx, name, profiles, stages, !noNodes)
		}),
	}
	up.Flags().BoolVar(&noNodes, "no-nodes", false, "create no nodes (add them later with matrix nodes)")
	cli.ProfilesFlag(up, &profiles)
	platform.StagesFlag(up, &stages)
	var stale bool
	down := &cobra.Command{
		Use: "down [NAME]", Short: "Remove a cluster, also a stale one of a killed run", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if stale || name != "" {
					return cli.Usagef("%s is the cluster to remove; leave out --name and --stale", args[0])
				}
				name = args[0]
			}
			return on(func(ctx context.Context, name string) error {
				if stale {
					return a.clustersDownStale(ctx)
				}
				return a.clusterDown(ctx, name)
			})(cmd, nil)
		},
	}
	down.Flags().BoolVar(&stale, "stale", false, "remove every cluster whose run was killed, instead of one by name")
	var output string
	status := &cobra.Command{
		Use: "status", Short: "List the clusters on this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.clusterStatus(cmd.Context(), output) },
	}
	status.Flags().StringVarP(&output, "output", "o", "table", "output format: table, json or name")
	kubeconfig := &cobra.Command{
		Use: "kubeconfig", Short: "Print a cluster's kubeconfig, certificates inside", Args: cobra.NoArgs,
		RunE: on(func(_ context.Context, name string) error { return a.clusterKubeconfig(name) }),
	}
	var apisOnly bool
	standIns := &cobra.Command{
		Use: "stand-ins", Hidden: true, Args: cobra.NoArgs, Short: "Play the operators of a cluster until it is removed",
		RunE: on(func(ctx context.Context, name string) error { return a.clusterStandIns(ctx, name, apisOnly) }),
	}
	standIns.Flags().BoolVar(&apisOnly, "apis-only", false, "stand in only for aggregated APIs, as a replay needs")
	cmd.AddCommand(withName(up), withName(down), status, withName(kubeconfig), withName(standIns))
	return cmd
}

func (a *app) clusterUp(ctx context.Context, name, profiles string, stageNames []string, withNodes bool) (err error) {
	stages, err := platform.Stages(stageNames)
	if err != nil {
		return err
	}
	var nodes []*corev1.Node
	if !withNodes && profiles != "" {
		return cli.Usagef("--profiles %s: with --no-nodes no node is made; give it to matrix nodes", profiles)
	}
	if withNodes {
		if nodes, err = a.nodesFor(profiles, "", "eks", ""); err != nil {
			return err
		}
	}
	if err := a.Stack.Build(ctx, a.Progress, stack.GroupControlPlane); err != nil {
		return err
	}
	sup := host.NewSupervisor()
	defer sup.Close(0) // it leaves detached processes alone
	c := embedded.NewControlPlane(embedded.ControlPlaneOptions{Name: name, Paths: a.Paths, Stack: a.Stack, Ports: a.Ports, Sup: sup, Stages: stages, Detach: true})
	t := a.Progress.Begin("Starting cluster " + name)
	err = c.Up(ctx)
	t.End("", err)
	if err == nil {
		err = a.furnish(ctx, c, sup, nodes)
	}
	if err != nil {
		if state, findErr := embedded.FindCluster(a.Paths, name); findErr == nil && state.Mine() {
			_ = c.Down(context.WithoutCancel(ctx)) // only what this call made: Mine is false for a cluster that was there before
		}
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "cluster %s is up\nexport KUBECONFIG=%s\n", name, c.Kubeconfig())
	return err
}

// furnish gives a new cluster its storage, its nodes and its operator stand-ins.
func (a *app) furnish(ctx context.Context, c *embedded.ControlPlane, sup *host.Supervisor, nodes []*corev1.Node) error {
	clients, err := infra.NewClients(c.Kubeconfig())
	if err != nil {
		return err
	}
	if err := simulate.EnsureStorage(ctx, clients, nodes); err != nil {
		return err
	}
	if len(nodes) > 0 {
		t := a.Progress.Begin(fmt.Sprintf("Making %d nodes", len(nodes)))
		err = simulate.EnsureNodes(ctx, clients, nodes)
		t.End("", err)
		if err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's own file: %w", err)
	}
	return embedded.StartStandIns(sup, a.Paths, c.Name(), self, "cluster", "stand-ins", "--name", c.Name())
}

func (a *app) nodesFor(profilesDir, recipesDir, service, accelerator string) ([]*corev1.Node, error) {
	profiles, err := cli.Profiles(profilesDir, recipesDir)
	if err != nil {
		return nil, err
	}
	groups, err := simulate.ChooseProfiles(simulate.Assume(profiles), service, accelerator, a.Settings.NodeGroups())
	if err != nil {
		return nil, err
	}
	for _, g := range simulate.Growing(groups) {
		if _, err := fmt.Fprintf(a.Stderr, "group %s has %s here, and no more are made: only a cell of `matrix run` makes nodes (up to %d, %s)\n", g.Name, lists.Count(g.Min, "node"), g.Max, g.Origin); err != nil {
			return nil, err
		}
	}
	return simulate.Nodes(groups), nil
}

func (a *app) clusterDown(ctx context.Context, name string) error {
	if slices.Contains(kind.Clusters(a.Paths), name) {
		return a.kindClusterDown(ctx, name)
	}
	state, err := embedded.FindCluster(a.Paths, name)
	if err != nil {
		return reason.Wrap(reason.Usage, err)
	}
	if state.Owner != 0 && !state.Stale() {
		return cli.Usagef("cluster %s belongs to a run that is still going on (process %d); end that first", name, state.Owner)
	}
	if err := state.Remove(); err != nil {
		return reason.Wrap(reason.ClusterFailed, fmt.Errorf("remove cluster %s: %w", name, err))
	}
	_, err = fmt.Fprintf(a.Stdout, "cluster %s is removed\n", name)
	return err
}

// clustersDownStale removes what killed runs left behind, and nothing that a live run or a user
// still has.
func (a *app) clustersDownStale(ctx context.Context) error {
	all, err := embedded.Clusters(a.Paths)
	if err != nil {
		return err
	}
	n := 0
	for _, s := range all {
		if !s.Stale() {
			continue
		}
		if err := a.clusterDown(ctx, s.Name); err != nil {
			return err
		}
		n++
	}
	_, err = fmt.Fprintf(a.Stdout, "%d stale clusters removed\n", n)
	return err
}

func (a *app) clusterKubeconfig(name string) error {
	path := kind.Kubeconfig(a.Paths, name)
	if path == "" {
		state, err := embedded.FindCluster(a.Paths, name)
		if err != nil {
			return reason.Wrap(reason.Usage, err)
		}
		path = state.Kubeconfig()
	}
	raw, err := infra.FlattenKubeconfig(path)
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(raw)
	return err
}

// clusterStandIns is the process that simulates a persistent cluster's operators. It exits when the
// cluster's directory is removed.
func (a *app) clusterStandIns(ctx context.Context, name string, apisOnly bool) error {
	signal.Ignore(syscall.SIGHUP)
	state, err := embedded.FindCluster(a.Paths, name)
	if err != nil {
		return err
	}
	clients, err := infra.NewClients(state.Kubeconfig())
	if err != nil {
		return err
	}
	apis, err := simulate.StartAPIServiceStandIn(embedded.EgressSocket(state.Dir()), nil)
	if err != nil {
		return err
	}
	defer apis.Close()
	if apisOnly {
		<-ctx.Done()
		return nil
	}
	stages, err := cli.OperatorStages()
	if err != nil {
		return err
	}
	simulate.NewOperatorStandIns(clients, slog.New(slog.NewTextHandler(a.Stderr, nil)), stages, nil).Run(ctx)
	return nil
}

// kindClusterDown removes a Kind cluster that a run with --keep left.
func (a *app) kindClusterDown(ctx context.Context, name string) error {
	p, err := platform.Kind(a.App, "")
	if err != nil {
		return err
	}
	if err := p.Engine.Usable(ctx); err != nil {
		return err
	}
	if err := p.Remove(ctx, name); err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	_, err = fmt.Fprintf(a.Stdout, "cluster %s is removed\n", name)
	return err
}
