package gate

import (
	"context"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
)

const (
	// watchFrom is the number of nodes from which a cluster is watched between polls that list
	// everything.
	watchFrom = 200
	// listEvery is the longest time between lists of everything; longer if listing is slow.
	listEvery = 15 * time.Second
	// idle is the least pause between polls, as a multiple of the last one's duration: polling must
	// not slow down what it waits for.
	idle = 10
	// lastPollBudget bounds the poll after a deadline.
	lastPollBudget = 30 * time.Second
)

// checkWatched returns what is lacking according to the watches. It returns "" if only a full poll
// can decide: when nothing is lacking, something has failed, or is pending or rejected, or the last
// full poll is too old. A cluster of usual size is always listed.
func (g *Gate) checkWatched(state lane.State) string {
	if g.watcher == nil || g.troubled || time.Since(g.listed) >= max(listEvery, idle*g.listTook) {
		return ""
	}
	if _, failed := g.failedItems(state); failed != nil {
		return ""
	}
	if time.Since(g.watchChecked) < idle*g.watchCheckTook {
		g.State = state
		return g.lacking(state, g.lastReport)
	}
	start := time.Now()
	defer func() { g.watchChecked, g.watchCheckTook = time.Now(), time.Since(start) }()
	view, ok := g.watcher.View()
	if !ok {
		return ""
	}
	view.Jobs = g.Jobs
	report := g.check(view)
	if len(report.Waiting) == 0 || len(report.Pending)+len(report.Wrong)+len(report.Refused) > 0 {
		return ""
	}
	g.State, g.lastReport, g.View = state, report, view
	g.pace.note(time.Now(), &report)
	g.resetTimers()
	return g.lacking(state, report)
}

// pollAfterDeadline lists everything once more after the deadline of a watched cluster, so that the
// report shows the real state of its pods.
func (g *Gate) pollAfterDeadline(ctx context.Context) {
	if g.watcher == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastPollBudget)
	defer cancel()
	view, err := observe.Poll(ctx, g.Env.Clients.Kube)
	if err != nil {
		return // the watched state has to do; unanswered reports a silent API server
	}
	view.Jobs = g.Jobs
	report := g.check(view)
	if len(report.Waiting) == 0 && len(report.Wrong) == 0 {
		return // ready just now, which is too late: report what was lacking at the deadline
	}
	if view.ReadRefusals(ctx, g.Env.Clients.Kube) == nil {
		report = g.check(view)
	}
	g.View, g.lastReport = view, report
	g.pace.note(time.Now(), &report)
}
