package daytwo

import (
	"context"
	"fmt"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// farewell gives an item that waits for the removal of a release the hook that is in its way.
func (b Bundles) farewell(ctx context.Context, env *lane.Env, it *lane.Item) {
	if b.Before == nil || b.Now == nil || env.Clients == nil || env.Clients.Kube == nil {
		return
	}
	var gone []bundle.Release
	for _, r := range b.Before.Expectation.Releases {
		if namespaceOf(b.Now, r.Name) == "" {
			gone = append(gone, r)
		}
	}
	for _, f := range deleteHooks(ctx, env.Clients.Kube, gone) {
		it.State, it.Reason, it.Patience, it.Check = lane.ItemSuspect, reason.DeployFailed, stuckFor, deleteHookStuck.ID
		it.Text = fmt.Sprintf("%s, which the recipe has no more, cannot run: %s; so that component %s is not removed", f, f.Why, f.Release.Component)
		return
	}
}
