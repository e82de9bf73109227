package matrix

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/nvidia/aicr-action/internal/reason"
)

// RunAll runs the plans, n at a time, and returns their results in the plans' order. Recipes are started in order, the cells of one
// recipe as the table of lanes says. After an interrupt what has not begun is listed as not run.
func (r *Runner) RunAll(ctx context.Context, plans []Plan, n int) []Result {
	results := make([]Result, len(plans))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, len(plans)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				if ctx.Err() != nil {
					results[i] = r.NotRun(plans[i].Cell, NotRun, reason.Interrupted, "the run was ended before this cell began")
					continue
				}
				results[i] = r.Run(ctx, plans[i])
			}
		}()
	}
	for _, i := range startOrder(plans) {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// NotRun is the result of a cell that is not run, and why.
func (r *Runner) NotRun(c Cell, status Status, why reason.Reason, cause string) Result {
	return Result{Cell: c, Verdict: Verdict{Status: status, Reason: why, Cause: cause}, Rerun: r.Rerun(c)}
}

// startOrder is the order in which the plans are started, as indices.
func startOrder(plans []Plan) []int {
	rank := map[string]int{}
	for _, row := range laneTable() {
		rank[row.name] = row.start
	}
	recipe := map[string]int{}
	order := make([]int, len(plans))
	for i, p := range plans {
		order[i] = i
		if _, ok := recipe[p.Cell.Recipe]; !ok {
			recipe[p.Cell.Recipe] = len(recipe)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := plans[a].Cell, plans[b].Cell
		return cmp.Or(cmp.Compare(recipe[x.Recipe], recipe[y.Recipe]), cmp.Compare(rank[x.Deployer], rank[y.Deployer]))
	})
	return order
}
