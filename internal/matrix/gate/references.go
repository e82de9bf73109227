package gate

import (
	"context"
	"slices"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// checkReferences judges what the bundle refers to, once all of it exists. A fault must last, since
// a controller may still create the missing object.
func (g *Gate) checkReferences(ctx context.Context) wait.Result {
	have, err := refs.Read(ctx, g.Env.Clients.Kube, g.View)
	if err != nil {
		return g.readFailed(ctx, err)
	}
	have.SelfHeals = slices.Contains(g.lane.Controllers(), infra.ArgoCDControllers)
	if g.Env.Cluster != nil {
		have.Runs = g.Env.Cluster.Runs
	}
	g.references = refs.Check(g.expectation(), g.Env.Input.Components, have)
	err = g.references.Err()
	if err == nil {
		g.keepOnly("reference ", nil)
		return wait.Done()
	}
	key := "reference " + g.references.Faults[0].Finding.Cause
	g.keepOnly("reference ", map[string]bool{key: true})
	if g.lasts(key, pendingFor) {
		return wait.Never(err)
	}
	return wait.NotYet("%s", g.references.Faults[0].Finding.Cause)
}
