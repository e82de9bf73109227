package matrix

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/result"
)

// RunAll runs the plans, n at a time, and returns their results in the plans' order. They are started in order; if several run at once, the
// cells of one recipe as the table of lanes says. What is not begun, after an interrupt, at the deadline or after the last strike, is
// listed as not run; cells that had begun by then are let finish. The lanes of a recipe that passed are compared when the last one has
// ended. The error is
// the strikes' (reason SYNC_TIMEOUT), or nil.
func (r *Runner) RunAll(ctx context.Context, plans []Plan, n int) ([]result.Result, error) {
	return r.runAll(ctx, plans, n, r.runCell)
}

func (r *Runner) runAll(ctx context.Context, plans []Plan, n int, run func(context.Context, Plan) ended) ([]result.Result, error) {
	book := newLedger(r, plans)
	count := newStrikes(r.MaxStrikes)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, len(plans)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				if v := r.refuse(ctx, count); v != nil {
					book.enter(ctx, i, ended{Result: r.NotRun(plans[i].Cell, *v)})
					continue
				}
				result := run(ctx, plans[i])
				book.enter(ctx, i, result)
				count.add(result.Result)
			}
		}()
	}
	for _, i := range startOrder(plans, n) {
		next <- i
	}
	close(next)
	wg.Wait()
	return book.results, count.out()
}

// refuse is why no further cell is begun, or nil.
func (r *Runner) refuse(ctx context.Context, count *strikes) *result.Verdict {
	if ctx.Err() != nil {
		return &result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "the run was ended before this cell began"}
	}
	if err := count.out(); err != nil {
		return &result.Verdict{Status: result.NotRun, Reason: reason.SyncTimeout, Cause: err.Error()}
	}
	if late := r.Deadline.TooLate(); late != "" {
		return &result.Verdict{Status: result.NotRun, Reason: reason.JobDeadline, Cause: late}
	}
	return nil
}

// NotRun is the result of a cell that is not run, and why.
func (r *Runner) NotRun(c result.Cell, why result.Verdict) result.Result {
	result := r.newResult(c)
	result.Verdict = why
	return result
}

// startOrder is the order in which the plans are started, as indices. One after the other they keep their order.
func startOrder(plans []Plan, n int) []int {
	rank := map[string]int{}
	for _, row := range LaneTable() {
		rank[row.Name] = row.start
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
