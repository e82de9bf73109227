package matrix

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// RunAll runs the plans, n at a time, and returns their results in the plans' order. It starts them
// in startOrder, those that Building has controllers for before the others; while memory is short,
// only one runs. The clusters of the next cells, Ahead of
// them, start while others run. A cell in which a program of the stack crashed is run again, once.
// After an interrupt, at the deadline, after the last strike, or with FailFast after the first
// failed cell, no further cell starts; running cells are allowed to finish, and the rest are listed
// as not run. A cell that is the same as another one (Share) gets its verdict. The lanes of a recipe that passed are compared when the last one has ended. The error
// is the strikes' (reason SYNC_TIMEOUT), or nil.
func (r *Runner) RunAll(ctx context.Context, plans []Plan, n int) ([]result.Result, error) {
	return r.runAhead(ctx, plans, n, r.runCell, r.startAhead)
}

// runAhead is RunAll with functions that run a cell, and that start one before its turn.
func (r *Runner) runAhead(ctx context.Context, plans []Plan, n int, run func(context.Context, Plan) finishedCell, begin func(context.Context, Plan) startedCell) ([]result.Result, error) {
	book := newLedger(r, plans)
	count := schedule.New(r.MaxStrikes)
	room := &schedule.MemoryRoom{}
	order := slices.DeleteFunc(r.startOrder(plans, n), func(i int) bool { return plans[i].same != "" })
	early := newPool(r, slices.Clone(plans), order, begin)
	for i := range early.plans {
		early.plans[i].ready = func() {
			if r.refuse(ctx, count, book) == nil {
				early.fill(ctx)
			}
		}
	}
	watched, stop := context.WithCancel(ctx)
	var wg, watching sync.WaitGroup
	watching.Go(func() { early.watch(watched) })
	next := &queue{runner: r, plans: plans, order: slices.Clone(order)}
	over := func() bool { return r.refuse(ctx, count, book) != nil }
	for range min(n, len(plans)) {
		wg.Go(func() {
			for i, ok := next.take(ctx, over); ok; i, ok = next.take(ctx, over) {
				cell := early.turn(i)
				if cell == nil || !room.Enter(r.Memory, r.MemoryPerCell()-aheadMemory) {
					r.awaitMemory(ctx, room, cell, early)
				}
				v := r.refuse(ctx, count, book)
				if v == nil {
					v = plans[i].mustSkip()
				}
				if v != nil {
					room.Leave()
					book.enter(ctx, i, finishedCell{Result: r.unrun(ctx, plans[i], r.notTaken(cell, plans[i].Cell, *v))})
					continue
				}
				if _, err := r.built(plans[i]); err != nil {
					room.Leave()
					book.enter(ctx, i, finishedCell{Result: r.unbuilt(plans[i].Cell, err)})
					continue
				}
				var e finishedCell
				if cell != nil {
					e = cell.take(ctx)
				} else {
					e = run(ctx, early.plans[i])
				}
				if r.refuse(ctx, count, book) == nil {
					e = r.runAgain(ctx, early.plans[i], e, run)
				}
				room.Leave()
				book.enter(ctx, i, e)
				count.Add(e.Result)
			}
		})
	}
	wg.Wait()
	stop()
	watching.Wait()
	book.blame()
	return book.results, count.Out()
}

// queue hands out the plans in the order in which they start.
type queue struct {
	runner *Runner
	plans  []Plan

	mu    sync.Mutex
	order []int // those that are left
}

// take returns the first plan whose controllers are on the machine, or could not be had. As long as
// there is none, it waits, unless over says that no further cell starts: then it returns any. It
// returns false once no plan is left.
func (q *queue) take(ctx context.Context, over func() bool) (int, bool) {
	for {
		changed := q.runner.Building.Changed() // before looking, so that no change is missed
		if i, ok := q.first(over()); ok || i < 0 {
			return i, ok
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-time.After(time.Second): // other cells and the clock decide whether the run is over
		}
	}
}

// first removes and returns the first plan that can start, or any. Without one, it returns false,
// and -1 if none is left at all.
func (q *queue) first(any bool) (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		return -1, false
	}
	for at, i := range q.order {
		if done, _ := q.runner.built(q.plans[i]); done || any {
			q.order = slices.Delete(q.order, at, at+1)
			return i, true
		}
	}
	return 0, false
}

// built reports whether the plan's controllers are on the machine, or why they cannot be had.
func (r *Runner) built(p Plan) (bool, error) {
	if r.Building == nil {
		return true, nil
	}
	return r.Building.Done(p.needs())
}

// unbuilt returns the result of a cell whose controllers could not be had.
func (r *Runner) unbuilt(c result.Cell, err error) result.Result {
	res := r.NotRun(c, result.VerdictOf(err))
	res.Started = time.Now().UTC() // of several attempts at a cell the latest counts
	return res
}

// ControllerSets returns what the lanes of the plans need, each set once, in the order in which
// cells start, n at a time.
func (r *Runner) ControllerSets(plans []Plan, n int) []schedule.BuildingSet {
	var sets []schedule.BuildingSet
	for _, i := range r.startOrder(plans, n) {
		set := schedule.BuildingSet(plans[i].needs())
		if !slices.ContainsFunc(sets, func(s schedule.BuildingSet) bool { return slices.Equal(s, set) }) {
			sets = append(sets, set)
		}
	}
	return sets
}

// notTaken returns the result of a cell that is not run, and removes its cluster if that was
// started. What could not be removed is a warning.
func (r *Runner) notTaken(cell startedCell, c result.Cell, why result.Verdict) result.Result {
	res := r.NotRun(c, why)
	if cell != nil {
		if err := cell.drop(); err != nil {
			res.Warnings = append(res.Warnings, fmt.Sprintf("the cluster that was started ahead was not removed: %s", err))
		}
	}
	return res
}

// refuse returns why no further cell may start, or nil.
func (r *Runner) refuse(ctx context.Context, count *schedule.Count, book *ledger) *result.Verdict {
	if ctx.Err() != nil {
		return &result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "the run was ended before this cell began"}
	}
	if err := count.Out(); err != nil {
		return &result.Verdict{Status: result.NotRun, Reason: reason.SyncTimeout, Cause: err.Error()}
	}
	if first := book.firstRed(); r.FailFast && first != nil {
		return &result.Verdict{Status: result.NotRun, Reason: first.Reason, Cause: fmt.Sprintf("%s was red, and the run ends with the first such cell (--fail-fast)", first.Cell)}
	}
	if late := r.Deadline.TooLate(); late != "" {
		return &result.Verdict{Status: result.NotRun, Reason: reason.JobDeadline, Cause: late}
	}
	return nil
}

// NotRun returns the result of a cell that is not run, with the reason.
func (r *Runner) NotRun(c result.Cell, why result.Verdict) result.Result {
	result := r.newResult(c)
	result.Verdict = why
	return result
}

// startOrder returns the order in which the plans start, as indices. It goes recipe by recipe, so
// that their lanes can be compared early. First come the recipes that failed last time, then those
// in First, then the others. Within these, the longest comes first if Durations knows it: a run
// should not end with one long cell alone. Otherwise the given order stays. If several cells run at
// once, those of one recipe start in the order of the table of lanes.
func (r *Runner) startOrder(plans []Plan, n int) []int {
	rank := map[string]int{}
	if n > 1 {
		for _, row := range laneTable() {
			rank[row.Name] = row.start
		}
	}
	recipes := r.recipeOrder(plans)
	order := make([]int, len(plans))
	for i := range plans {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := plans[a].Cell, plans[b].Cell
		return cmp.Or(cmp.Compare(recipes[x.Recipe], recipes[y.Recipe]), cmp.Compare(rank[x.Deployer], rank[y.Deployer]), cmp.Compare(x.From, y.From))
	})
	return order
}

// recipeOrder returns the place of each recipe.
func (r *Runner) recipeOrder(plans []Plan) map[string]int {
	type rank struct {
		class int // 0: failed last time; 1: in First; 2: the others
		cost  time.Duration
	}
	var names []string
	all := map[string]*rank{}
	for _, p := range plans {
		s := all[p.Cell.Recipe]
		if s == nil {
			s = &rank{class: 2}
			if slices.Contains(r.First, p.Cell.Recipe) {
				s.class = 1
			}
			all[p.Cell.Recipe], names = s, append(names, p.Cell.Recipe)
		}
		if r.Durations == nil {
			continue
		}
		s.cost += r.Durations.Of(p.Cell)
		if r.Durations.Red(p.Cell) {
			s.class = 0
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(all[a].class, all[b].class), cmp.Compare(all[b].cost, all[a].cost))
	})
	place := map[string]int{}
	for i, name := range names {
		place[name] = i
	}
	return place
}
