package matrix

import (
	"context"
	"slices"
	"sync"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ledger holds the results of a run while its cells run. It compares the lanes of a recipe as soon
// as the last of them has ended, and then drops their captured objects and the shared rendering.
type ledger struct {
	runner *Runner
	plans  []Plan

	mu      sync.Mutex
	results []result.Result
	left    map[string]int            // by recipe: cells that have not ended
	live    map[int]*compare.Captured // by plan
	// unneeded are the programs that the cells of plans had no pod for.
	unneeded map[int][]infra.Unneeded
}

// newLedger lists every cell as not run, so that a partial list cannot be mistaken for a complete
// one.
func newLedger(r *Runner, plans []Plan) *ledger {
	l := &ledger{runner: r, plans: plans, results: make([]result.Result, len(plans)), left: map[string]int{}, live: map[int]*compare.Captured{}, unneeded: map[int][]infra.Unneeded{}}
	for i, p := range plans {
		l.results[i] = r.NotRun(p.Cell, result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "the cell had not ended when this was written"})
		l.left[p.Cell.Recipe]++
	}
	return l
}

// enter records a cell's end and reports it to OnEvent and OnResult.
func (l *ledger) enter(ctx context.Context, i int, e finishedCell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results[i], l.unneeded[i] = e.Result, e.unneeded
	if e.captured != nil {
		l.live[i] = e.captured
		if l.runner.onCaptured != nil {
			l.runner.onCaptured(e.Cell, e.captured)
		}
	}
	l.runner.emit(Event{Kind: CellEnd, Cell: e.Cell, Result: &e.Result})
	l.report()
	recipe := l.plans[i].Cell.Recipe
	if l.left[recipe]--; l.left[recipe] == 0 {
		l.compare(ctx, recipe)
		l.share(recipe)
		for _, p := range l.plans {
			if p.Cell.Recipe == recipe {
				p.dropRendering()
			}
		}
	}
}

// blame turns passes into failures if a program that was given ran in none of them.
func (l *ledger) blame() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var cells []unneededCell
	for i, p := range l.plans {
		of := i
		if p.same != "" {
			of = slices.IndexFunc(l.plans, func(o Plan) bool { return o.Cell == result.Cell{Recipe: p.same, Deployer: p.Cell.Deployer} })
		}
		cells = append(cells, unneededCell{Result: &l.results[i], Programs: l.unneeded[of]})
	}
	blameUnneeded(cells)
	l.report()
}

// firstRed returns the first failed cell in the plans' order, or nil.
func (l *ledger) firstRed() *result.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.results {
		switch r.Status {
		case result.Failed, result.Timeout, result.Infrastructure:
			return &r
		}
	}
	return nil
}

func (l *ledger) report() {
	if l.runner.OnResult != nil {
		l.runner.OnResult(slices.Clone(l.results))
	}
}

// share gives the cells of the recipes that are the same as this one the verdicts of its own, which
// are final.
func (l *ledger) share(recipe string) {
	for i, p := range l.plans {
		of := slices.IndexFunc(l.plans, func(o Plan) bool { return o.Cell == result.Cell{Recipe: p.same, Deployer: p.Cell.Deployer} })
		if p.same != recipe || of < 0 {
			continue
		}
		res, own := l.results[of], l.runner.newResult(p.Cell)
		if res.Reason == reason.LaneDivergence && res.ComparedWith != "" { // either cell alone would pass
			own.Rerun = l.runner.Rerun(result.Cell{Recipe: p.Cell.Recipe, Deployer: res.ComparedWith + "," + p.Cell.Deployer})
		}
		l.results[i] = equalResult(res, own, l.plans[of].notes, p.notes)
		l.runner.emit(Event{Kind: CellEnd, Cell: p.Cell, Result: &l.results[i]})
		l.report()
	}
}

// compare compares the lanes of a recipe that passed: each upgrade with its first installation, and
// the first installations with each other. A cell whose verdict changes gets its
// artifacts rewritten.
func (l *ledger) compare(ctx context.Context, recipe string) {
	var lanes, firsts []compare.Lane
	for i, p := range l.plans {
		if p.Cell.Recipe == recipe && l.live[i] != nil {
			lanes = append(lanes, compare.Lane{Result: &l.results[i], Live: l.live[i], Bench: l.runner.bench()})
			delete(l.live, i)
		}
	}
	for _, lane := range lanes {
		if lane.From == "" {
			firsts = append(firsts, lane)
		}
	}
	for _, lane := range lanes {
		if lane.From == "" {
			continue
		}
		i := slices.IndexFunc(firsts, func(f compare.Lane) bool { return f.Cell == lane.First() })
		if i < 0 {
			lane.NotVerified = append(lane.NotVerified, "whether the end of the upgrade is that of a first installation: that one has not passed")
			continue
		}
		accepted, expired := l.runner.From.accepted(recipe, lane.Live.Releases)
		lane.Warnings = append(lane.Warnings, expired...)
		compare.Upgraded(context.WithoutCancel(ctx), firsts[i], lane, compare.BenignRules(), accepted...)
	}
	compare.Lanes(context.WithoutCancel(ctx), firsts, compare.BenignRules(), l.runner.Rerun)
	for _, lane := range lanes {
		if lane.Status != result.Passed {
			artifactsRestate(lane.Result)
		}
	}
	if len(lanes) > 1 {
		l.report()
	}
}
