package main

import (
	"context"
	"slices"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
)

// canBuild rejects a machine on which the clusters of compiled programs could not be made. A
// toolchain that is too old is said before it fails in the middle of a module's source.
func (a *app) canBuild(p *prepared, controllers []infra.ControllerKind) error {
	if err := a.canCompile(p.stacks(), controllers); err != nil {
		return err
	}
	return embedded.CheckCache(a.Paths, p.runner.ClusterPrefix, len(p.plans))
}

// ready makes sure that what the cells are made of is on the machine.
func (a *app) ready(ctx context.Context, p *prepared) error {
	controllers := matrix.ControllersFor(p.plans)
	if p.on.limits.Compiled {
		if err := a.canBuild(p, controllers); err != nil {
			return err
		}
	}
	return p.needs(ctx, controllers...)
}

// readyForFirst is ready for the first cells of a run: what the others are made of is compiled while
// these run. The caller stops the runner's Building.
func (a *app) readyForFirst(ctx context.Context, p *prepared, n int) error {
	controllers := matrix.ControllersFor(p.plans)
	groups := embedded.StackGroups(controllers...)
	lacks := func(s *stack.Stack) bool { return len(s.Missing(groups...)) > 0 }
	if !p.on.limits.Compiled || !slices.ContainsFunc(p.stacks(), lacks) && len(a.Helmfile.Missing(embedded.HelmfileGroups(controllers...)...)) == 0 {
		return a.ready(ctx, p)
	}
	if err := a.canBuild(p, controllers); err != nil {
		return err
	}
	sets := p.runner.ControllerSets(p.plans, n)
	p.runner.Building = schedule.StartBuilding(ctx, p.needs, func(ctx context.Context) {
		for _, s := range p.stacks() {
			s.Fetch(ctx, groups...)
		}
	}, sets)
	return p.runner.Building.AwaitFirst(ctx, sets)
}
