package gate

import (
	"context"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// checkReferences judges what the bundle refers to, once all of it exists. A fault must last, since
// a controller may still create the missing object.
func (g *Gate) checkReferences(ctx context.Context) wait.Result {
	have, err := facts.ReadLive(ctx, g.Env.Clients.Kube, g.View)
	if err != nil {
		return g.readFailed(ctx, err)
	}
	if g.Env.Cluster != nil {
		have.Runs = g.Env.Cluster.Runs
	}
	x := facts.New(g.expectation(), g.Env.Input.Components, have.View.Nodes, have)
	x.Again, x.Furnished = g.Env.Before != nil, g.Env.Furnished
	if g.references, err = g.Bench.Report(x, g.Env.Cell.Recipe, g.lane.Order(g.Env), judge.Settled); err != nil {
		return wait.Never(err)
	}
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
