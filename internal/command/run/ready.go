package run

import (
	"context"
	"slices"

	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
)

// canBuild rejects a machine on which the clusters of compiled programs could not be made. A
// toolchain that is too old is said before it fails in the middle of a module's source.
func (a *app) canBuild(p *prepared, controllers []infra.ControllerKind) error {
	if err := platform.CanCompile(a.App, p.stacks(), controllers); err != nil {
		return err
	}
	return embedded.CheckCache(a.Paths, p.runner.ClusterPrefix, len(p.plans))
}

// ready makes sure that what the cells are made of is on the machine.
func (a *app) ready(ctx context.Context, p *prepared) error {
	return a.readyWith(ctx, p, matrix.ControllersFor(p.plans))
}

// readyWith is ready where the clusters have these controllers.
func (a *app) readyWith(ctx context.Context, p *prepared, controllers []infra.ControllerKind) error {
	if p.on.Limits.Compiled {
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
	if !p.on.Limits.Compiled || !slices.ContainsFunc(p.stacks(), lacks) && len(a.Helmfile.Missing(embedded.HelmfileGroups(controllers...)...)) == 0 && len(a.Karpenter.Missing(embedded.KarpenterGroups(controllers...)...)) == 0 {
		return a.ready(ctx, p)
	}
	if err := a.canBuild(p, controllers); err != nil {
		return err
	}
	sets := p.runner.ControllerSets(p.plans, n)
	var over []func()
	for _, s := range p.stacks() {
		over = append(over, s.Expect())
	}
	p.runner.Building = schedule.StartBuilding(ctx, p.needs, func(ctx context.Context) {
		for _, s := range p.stacks() {
			s.Fetch(ctx, groups...)
		}
	}, sets)
	go func() {
		p.runner.Building.Wait()
		for _, end := range over {
			end()
		}
	}()
	return p.runner.Building.AwaitFirst(ctx, sets)
}
