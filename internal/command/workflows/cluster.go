package workflows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// workflowPlace says where workflows run.
type workflowPlace struct {
	name, kubeconfig, context string
	inCluster, keep           bool
	chaos                     bool // the stages of chaos steps are needed
	apply, schedulers, stages []string
	platform                  platform.Flags // of a cluster of the run's own
	run, controllers          []string       // second schedulers and controllers that are shipped
	program, config           string         // one of the user's own
}

func (p *workflowPlace) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.name, "name", "", "`name` of a persistent cluster to run on (default: a cluster of the run's own)")
	cmd.Flags().StringVar(&p.kubeconfig, "kubeconfig", "", "`file` with the cluster to run on; KWOK must run in it")
	cmd.Flags().StringVar(&p.context, "context", "", "`name` of the kubeconfig's context (default: its current one)")
	cmd.Flags().BoolVar(&p.inCluster, "in-cluster", false, "run on the cluster in which this process is a pod")
	cmd.Flags().BoolVar(&p.keep, "keep", false, "leave the run's own cluster; remove it with matrix cluster down")
	cmd.Flags().StringSliceVar(&p.apply, "apply", nil, "`file` of objects that the workflows need, e.g. CRDs and namespaces; applied first")
	cmd.Flags().StringSliceVar(&p.schedulers, "play-scheduler", nil, "`name` of a scheduler whose pods the default scheduler places, by its own rules (the run's own cluster only)")
	cmd.Flags().StringSliceVar(&p.run, "scheduler", nil, "`name` of a second scheduler to run, which is compiled when it is not in the cache: "+strings.Join(addons.Shipped(), ", ")+" (the run's own cluster only)")
	cmd.Flags().StringSliceVar(&p.controllers, "controller", nil, "`name` of a controller to run, which is compiled when it is not in the cache: "+strings.Join(addons.Controllers(), ", ")+" (the run's own cluster only)")
	cmd.Flags().StringVar(&p.program, "scheduler-program", "", "a second scheduler of yours, as `NAME=FILE`: the name that pods ask for, and a program on the scheduler framework (the run's own cluster only)")
	cmd.Flags().StringVar(&p.config, "scheduler-config", "", "`file` with the KubeSchedulerConfiguration of --scheduler-program (default: a profile with its name)")
	platform.StagesFlag(cmd, &p.stages)
	cli.OldName(cmd, "cluster", platform.PlatformFlag)
	cmd.Flags().StringVar(&p.platform.Cluster, platform.PlatformFlag, platform.Default().Name, "what a cluster of the run's own is made of: "+platform.Help())
	p.platform.RegisterImages(cmd)
}

// own reports whether the run creates its own cluster.
func (p *workflowPlace) own() bool {
	return p.name == "" && p.kubeconfig == "" && p.context == "" && !p.inCluster
}

// programs: second schedulers or controllers are asked for.
func (p *workflowPlace) programs() bool {
	return len(p.run) > 0 || len(p.controllers) > 0 || p.program != ""
}

func (p *workflowPlace) check(cmd *cobra.Command) error {
	elsewhere := 0
	for _, is := range []bool{p.name != "", p.kubeconfig != "" || p.context != "", p.inCluster} {
		if is {
			elsewhere++
		}
	}
	switch {
	case elsewhere > 1:
		return cli.Usagef("--name, --kubeconfig with --context, and --in-cluster each name a cluster; give one of them")
	case p.name == "" && cmd.Flags().Changed("name"), p.kubeconfig == "" && cmd.Flags().Changed("kubeconfig"), p.context == "" && cmd.Flags().Changed("context"):
		return cli.Usagef("--name, --kubeconfig and --context: want a value that is not empty")
	case !p.own() && (cmd.Flags().Changed(platform.PlatformFlag) || p.platform.Images != ""):
		return cli.Usagef("--platform and --kind-images are for a cluster of the run's own; leave out --name, --kubeconfig, --context and --in-cluster")
	case p.config != "" && p.program == "":
		return cli.Usagef("--scheduler-config is for --scheduler-program, which is missing")
	case p.keep && p.programs():
		return cli.Usagef("--keep leaves a cluster without second schedulers and controllers, which end with the run; leave out --keep, or --scheduler, --scheduler-program and --controller")
	case !p.own() && (p.keep || len(p.schedulers) > 0 || len(p.stages) > 0 || p.programs()):
		return cli.Usagef("--keep, --play-scheduler, --scheduler, --scheduler-program, --controller and --stages are for a cluster of the run's own; `matrix cluster up --stages` makes a persistent one with stages")
	}
	if err := p.platform.Check(
		platform.Wanted{Given: len(p.run) > 0, Feature: infra.SidePrograms, Text: "--scheduler"}, platform.Wanted{Given: len(p.controllers) > 0, Feature: infra.SidePrograms, Text: "--controller"},
		platform.Wanted{Given: p.program != "", Feature: infra.SidePrograms, Text: "--scheduler-program"},
	); err != nil {
		return err
	}
	for _, file := range p.apply {
		if _, err := os.Stat(file); err != nil {
			return cli.Usagef("--apply: %w", err)
		}
	}
	_, err := platform.Stages(p.stages)
	return err
}

// workflowCluster is the cluster of a run, ready.
type workflowCluster struct {
	name    string
	clients *infra.Clients
	notes   []string
	// labels are those that virtual nodes must have in this cluster, so that pods are let on them.
	labels map[string]string
	// end gives it back: removes the run's own, or leaves it with --keep.
	end func(context.Context) error
	// processes are those of the run's own cluster that have ended; nil for another one.
	processes func() []result.ProcessUse
	// startSchedulers starts its controllers and second schedulers; nil for another cluster, and
	// without any.
	startSchedulers func(context.Context) error
}

// openWorkflowCluster makes or finds the cluster. A process of the run's own cluster that ends by
// itself cancels the run.
func (a *app) openWorkflowCluster(ctx context.Context, cancel context.CancelCauseFunc, p workflowPlace, plan *workflow.Plan) (on *workflowCluster, err error) {
	switch {
	case p.own():
		on, err = platform.For(p.platform.On, a.ownWorkflowCluster, a.kindWorkflowCluster)(ctx, cancel, p, plan)
	case p.name != "":
		on, err = a.keptWorkflowCluster(p.name, plan)
	default:
		on, err = foreignWorkflowCluster(p)
	}
	if err != nil {
		return nil, err
	}
	err = applyFiles(ctx, on.clients, p.apply)
	if err == nil && on.startSchedulers != nil {
		err = on.startSchedulers(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, on.end(context.WithoutCancel(ctx)))
	}
	return on, nil
}

func (a *app) ownWorkflowCluster(ctx context.Context, cancel context.CancelCauseFunc, p workflowPlace, plan *workflow.Plan) (on *workflowCluster, err error) {
	own, err := a.planOwnCluster(p, plan)
	if err != nil {
		return nil, err
	}
	if err := a.CheckGo(a.Stack, stack.GroupControlPlane); err != nil {
		return nil, err
	}
	if err := a.Stack.Build(ctx, a.Progress, stack.GroupControlPlane); err != nil {
		return nil, err
	}
	if err := platform.BuildSchedulers(ctx, a.App, own.second); err != nil {
		return nil, err
	}
	sup := host.NewSupervisor()
	c := embedded.NewControlPlane(embedded.ControlPlaneOptions{
		Name: own.prefix + "-workflow-" + cli.NewRunID(), Purpose: own.purpose, Paths: a.Paths, Stack: a.Stack, Ports: a.Ports, Sup: sup, Stages: own.stages, Schedulers: own.schedulers,
		Webhooks: slices.ContainsFunc(own.second, addons.Scheduler.Webhooks),
	})
	on = &workflowCluster{name: c.Name(), notes: simulate.StandInLines(own.schedulers, nil, nil), processes: sup.Uses, end: func(ctx context.Context) error {
		defer sup.Close(0)
		return c.Down(ctx)
	}}
	t := a.Progress.Begin("Starting cluster " + c.Name())
	err = c.Up(ctx)
	if err == nil {
		on.clients, err = infra.NewClients(c.Kubeconfig())
	}
	if err == nil {
		err = simulate.EnsureStorage(ctx, on.clients, nil)
	}
	t.End("", err)
	if err != nil {
		return nil, errors.Join(err, on.end(context.WithoutCancel(ctx)))
	}
	go cancelOnDeath(ctx, cancel, sup.Died())
	if len(own.second) > 0 {
		a.runSchedulers(on, own.second, &addons.Runner{Clients: on.clients, Kubeconfig: c.Kubeconfig(), Dir: filepath.Join(filepath.Dir(c.Kubeconfig()), "schedulers"), Ports: a.Ports, Sup: sup}, c)
	}
	if p.keep {
		on.end = func(ctx context.Context) error {
			defer sup.Close(0)
			if err := c.Keep(ctx); err != nil {
				return err
			}
			return a.tellKept(c.Name(), c.Kubeconfig())
		}
	}
	return on, nil
}

// cancelOnDeath cancels a run when a component of its cluster exits without being stopped.
func cancelOnDeath(ctx context.Context, cancel context.CancelCauseFunc, died <-chan *infra.DeathError) {
	select {
	case death := <-died:
		cancel(addons.Death(death))
	case <-ctx.Done():
	}
}

func (a *app) tellKept(name, kubeconfig string) error {
	_, err := fmt.Fprintf(a.Stderr, "cluster %s is kept: export KUBECONFIG=%s\n", name, kubeconfig)
	return err
}

// keptWorkflowCluster is a persistent cluster. Its stages and schedulers are known, and must be
// those that the workflows need.
func (a *app) keptWorkflowCluster(name string, plan *workflow.Plan) (*workflowCluster, error) {
	name, err := a.ClusterName(name)
	if err != nil {
		return nil, err
	}
	state, err := embedded.FindCluster(a.Paths, name)
	if err != nil {
		return nil, reason.Wrap(reason.Usage, err)
	}
	if needed := append(plan.Schedulers(), plan.Controllers()...); len(needed) > 0 {
		return nil, reason.New(reason.SchedulerMissing, "the workflows need %s, and a persistent cluster has no second schedulers and no controllers; leave out --name", strings.Join(needed, ", "))
	}
	played, err := embedded.Schedulers(state.Dir())
	if err != nil {
		return nil, err
	}
	if missing := plan.MissingSchedulers(played); len(missing) > 0 {
		return nil, &reason.Error{Reason: reason.SchedulerMissing, Err: missing.Err()}
	}
	have, err := embedded.StageNames(state.Dir())
	if err != nil {
		return nil, err
	}
	var lacking []string
	for _, s := range plan.Stages() {
		if !slices.Contains(have, s) {
			lacking = append(lacking, s)
		}
	}
	if len(lacking) > 0 {
		return nil, cli.Usagef("cluster %s lacks the KWOK stages %s, which the workflows need; make it with `matrix cluster up --stages %s`", name, strings.Join(lacking, ", "), strings.Join(lacking, ","))
	}
	clients, err := infra.NewClients(state.Kubeconfig())
	if err != nil {
		return nil, err
	}
	return &workflowCluster{name: name, clients: clients, end: func(context.Context) error { return nil }}, nil
}

// foreignWorkflowCluster is the cluster of a kubeconfig, or the one around this process.
func foreignWorkflowCluster(p workflowPlace) (*workflowCluster, error) {
	on := &workflowCluster{name: "the cluster of this pod", end: func(context.Context) error { return nil }}
	var cfg *rest.Config
	var err error
	if p.inCluster {
		cfg, err = rest.InClusterConfig()
	} else {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = p.kubeconfig
		loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: p.context})
		cfg, err = loader.ClientConfig()
	}
	if err != nil {
		return nil, reason.New(reason.ClusterAccess, "find the cluster to run workflows on: %w", err)
	}
	if !p.inCluster {
		on.name = cfg.Host
	}
	if on.clients, err = infra.NewClientsFor(cfg); err != nil {
		return nil, reason.New(reason.ClusterAccess, "connect to %s: %w", cfg.Host, err)
	}
	if _, err := on.clients.Discovery.ServerVersion(); err != nil {
		return nil, reason.New(reason.ClusterAccess, "connect to %s: %w", cfg.Host, err)
	}
	return on, nil
}
