package gate

import (
	"context"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
)

const (
	// watchFrom is the number of nodes from which a cluster is watched between looks that list
	// everything.
	watchFrom = 200
	// listEvery is how often everything is listed all the same; less often if that takes long.
	listEvery = 15 * time.Second
	// idle is how many times as long as a look took there is until the next one that costs as much:
	// looking must not take the time of what it waits for.
	idle = 10
	// lastPollBudget is the time for the look after a deadline.
	lastPollBudget = 30 * time.Second
)

// checkWatched says what is lacking by what was watched, and nothing where only a look that lists
// everything may say more: when all is there, when something has failed, is pending or refused, or
// when the last such look is a while ago. A cluster of usual size is always listed.
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
	report := observe.CheckWorkloads(g.Env.Bundle.Expectation.Workloads, view)
	if len(report.Waiting) == 0 || len(report.Pending)+len(report.Wrong)+len(report.Refused) > 0 {
		return ""
	}
	g.State, g.lastReport, g.View = state, report, view
	g.pace.note(time.Now(), &report)
	g.resetTimers()
	return g.lacking(state, report)
}

// pollAfterDeadline lists everything once more after the deadline of a cluster that was watched: what is
// then said of its pods is what they are.
func (g *Gate) pollAfterDeadline(ctx context.Context) {
	if g.watcher == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastPollBudget)
	defer cancel()
	view, err := observe.Poll(ctx, g.Env.Clients.Kube)
	if err != nil {
		return // what was watched is the best there is, and unanswered says if the API server is silent
	}
	report := observe.CheckWorkloads(g.Env.Bundle.Expectation.Workloads, view)
	if len(report.Waiting) == 0 && len(report.Wrong) == 0 {
		return // it came to be just now: too late, and what was lacking at the deadline is what there is to say
	}
	if view.ReadRefusals(ctx, g.Env.Clients.Kube) == nil {
		report = observe.CheckWorkloads(g.Env.Bundle.Expectation.Workloads, view)
	}
	g.View, g.lastReport = view, report
	g.pace.note(time.Now(), &report)
}
