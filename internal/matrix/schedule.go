package matrix

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/nvidia/aicr-action/internal/reason"
)

// RunAll runs the plans, n at a time, and returns their results in the plans' order. They are started in order; if several run at once, the
// cells of one recipe as the table of lanes says. What is not begun, after an interrupt, at the deadline or after the last strike, is
// listed as not run; cells that had begun by then are let finish. Then the lanes of each recipe that passed are compared. The error is
// the strikes' (reason SYNC_TIMEOUT), or nil.
func (r *Runner) RunAll(ctx context.Context, plans []Plan, n int) ([]Result, error) {
	return r.runAll(ctx, plans, n, r.Run)
}

func (r *Runner) runAll(ctx context.Context, plans []Plan, n int, run func(context.Context, Plan) Result) ([]Result, error) {
	results := make([]Result, len(plans))
	enter := r.recorder(plans, results)
	ended := lastLanes(plans)
	count := newStrikes(r.MaxStrikes)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, len(plans)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				if v := r.refuse(ctx, count); v != nil {
					enter(i, r.NotRun(plans[i].Cell, *v))
					ended(plans[i])
					continue
				}
				result := run(ctx, plans[i])
				ended(plans[i])
				enter(i, result)
				count.add(result)
			}
		}()
	}
	for _, i := range startOrder(plans, n) {
		next <- i
	}
	close(next)
	wg.Wait()
	CompareLanes(context.WithoutCancel(ctx), results, r.Rerun)
	return results, count.out()
}

// refuse is why no further cell is begun, or nil.
func (r *Runner) refuse(ctx context.Context, count *strikes) *Verdict {
	if ctx.Err() != nil {
		return &Verdict{Status: NotRun, Reason: reason.Interrupted, Cause: "the run was ended before this cell began"}
	}
	if err := count.out(); err != nil {
		return &Verdict{Status: NotRun, Reason: reason.SyncTimeout, Cause: err.Error()}
	}
	if late := r.Deadline.tooLate(); late != "" {
		return &Verdict{Status: NotRun, Reason: reason.JobDeadline, Cause: late}
	}
	return nil
}

// NotRun is the result of a cell that is not run, and why.
func (r *Runner) NotRun(c Cell, why Verdict) Result {
	result := r.newResult(c)
	result.Verdict = why
	return result
}

// startOrder is the order in which the plans are started, as indices. One after the other they keep their order.
func startOrder(plans []Plan, n int) []int {
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
	if n < 2 {
		return order
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := plans[a].Cell, plans[b].Cell
		return cmp.Or(cmp.Compare(recipe[x.Recipe], recipe[y.Recipe]), cmp.Compare(rank[x.Deployer], rank[y.Deployer]))
	})
	return order
}
