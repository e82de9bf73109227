package workflows

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/kind"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// kindWorkflowCluster makes a Kind cluster for the run, without nodes of a recipe. What is missing
// on the machine is refused as for cells.
func (a *app) kindWorkflowCluster(ctx context.Context, cancel context.CancelCauseFunc, p workflowPlace, plan *workflow.Plan) (on *workflowCluster, err error) {
	own, err := a.planOwnCluster(p, plan)
	if err != nil {
		return nil, err
	}
	made, err := platform.Kind(a.App, p.platform.Images)
	if err != nil {
		return nil, err
	}
	made.Stages = own.stages
	if made.Port, made.Exact, err = a.RegistryPort(); err != nil {
		return nil, err
	}
	if err := made.Needs(ctx); err != nil {
		return nil, err
	}
	id := cli.NewRunID()
	dir, err := host.OpenRunDir(a.Paths, id)
	if err != nil {
		return nil, reason.Wrap(infra.DiskReason(err, reason.Internal), err)
	}
	log := slog.New(slog.DiscardHandler)
	if a.Verbose {
		log = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	c, err := made.Cluster(infra.Spec{Name: own.prefix + "-workflow-" + id, Purpose: own.purpose, Dir: dir.Path, Log: log})
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	c.PlaySchedulers(own.schedulers)
	on = &workflowCluster{name: c.Name(), notes: simulate.StandInLines(own.schedulers, nil, nil), labels: kind.NodeLabels(), end: func(ctx context.Context) error {
		return errors.Join(c.Down(ctx), dir.Close())
	}}
	t := a.Progress.Begin("Starting cluster " + c.Name())
	err = c.Up(ctx)
	t.End("", err)
	if err != nil {
		return nil, errors.Join(err, on.end(context.WithoutCancel(ctx)))
	}
	on.clients = c.Clients()
	go cancelOnDeath(ctx, cancel, c.Died())
	if p.keep {
		on.end = func(ctx context.Context) error {
			err := c.Keep(ctx, nil)
			if err == nil {
				err = a.tellKept(c.Name(), c.Kubeconfig())
			}
			return errors.Join(err, c.Down(ctx), dir.Close())
		}
	}
	return on, nil
}

// ownCluster is what a cluster of the run's own is made of, on either platform.
type ownCluster struct {
	prefix, purpose string
	schedulers      []string           // that the default one simulates
	second          []addons.Scheduler // programs that run beside it
	stages          []byte
}

func (a *app) planOwnCluster(p workflowPlace, plan *workflow.Plan) (*ownCluster, error) {
	own := &ownCluster{purpose: "workflow " + plan.Workflows[0].Name, schedulers: cli.SplitList(p.schedulers)}
	var err error
	if own.second, err = a.secondSchedulers(p, plan, own.schedulers); err != nil {
		return nil, err
	}
	if len(own.second) > 0 {
		if err := p.platform.On.Refuse(false, platform.Wanted{Given: true, Feature: infra.SidePrograms, Text: own.second[0].String() + ", which the workflows ask for,"}); err != nil {
			return nil, err
		}
	}
	if own.prefix, err = a.ClusterName(""); err != nil {
		return nil, err
	}
	if own.stages, err = platform.Stages(append(append([]string{workflow.CompleteStage}, plan.Stages()...), p.stages...)); err != nil {
		return nil, err
	}
	if p.chaos {
		own.stages, err = platform.WithChaosStages(own.stages)
	}
	return own, err
}
