package platform

import (
	"context"
	"slices"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// CanCompile returns an error if programs of these controllers are missing, and no Go here can
// compile them.
func CanCompile(a *cli.App, stacks []*stack.Stack, controllers []infra.ControllerKind) error {
	for _, s := range stacks {
		if err := a.CheckGo(s, embedded.StackGroups(controllers...)...); err != nil {
			return err
		}
	}
	if err := a.CheckGo(a.Karpenter, embedded.KarpenterGroups(controllers...)...); err != nil {
		return err
	}
	return a.CheckGo(a.Helmfile, embedded.HelmfileGroups(controllers...)...)
}

// Asked are the names in a flag and in the workflows, sorted, each once.
func Asked(flag, workflows []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(cli.SplitList(flag), workflows...))))
}

// BuildSchedulers compiles the shipped ones among these that are not in the cache.
func BuildSchedulers(ctx context.Context, a *cli.App, all []addons.Scheduler) error {
	groups := addons.Groups(all)
	if err := a.CheckGo(a.Schedulers, groups...); err != nil {
		return err
	}
	return a.Schedulers.Build(ctx, a.Progress, groups...)
}
