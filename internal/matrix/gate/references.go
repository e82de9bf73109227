package gate

import (
	"context"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/matrix/refs"
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
	if g.references, err = refs.CheckWith(g.expectation(), g.Env.Input.Components, have, g.judged); err != nil {
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

// judged is what the checks find that need the cluster.
func (g *Gate) judged(x *facts.Index) ([]problem.Problem, error) {
	return g.Bench.Judge(x, g.Env.Cell.Recipe, g.lane.Order(g.Env), judge.Settled)
}
