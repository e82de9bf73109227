// Package gate decides whether what a bundle promises is in the cluster: it polls until everything
// is ready, something has failed for good or the time is used up. It knows the expectation, what
// the lane reports and what the cluster shows. It must not know which deployer a lane belongs to,
// and it never asks the cluster what it should contain.
package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/refs"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// How long something must last before the gate believes it. All are measured on the gate's own
// clock, from the first look that saw it.
const (

	// pendingFor: the scheduler refuses a pod for a moment while a claim binds or a quota is
	// counted.
	pendingFor = 6 * time.Second
	// settleFor: a state that passes without being the canonical one may be a moment on the way to
	// it; longer than several of the refreshes that the gate asks Argo CD for (appLane.refresh).
	settleFor = 20 * time.Second
)

// Gate waits until the cluster is what the expectation says. The whole expectation, by name.
type Gate struct {
	Env     *lane.Env
	lane    lane.Lane
	budgets lane.Budgets
	// deadline shortens the budgets.
	deadline Deadline
	tell     func(string) // a change of state, for a person

	since      map[string]time.Time // when something that must last was first seen
	State      lane.State
	lastReport observe.WorkloadReport
	View       *observe.View
	// lastMissing are the expected objects that did not exist when everything else was as it should
	// be.
	lastMissing []observe.MissingObject
	// references are what the bundle refers to, judged once all is there.
	references refs.Report
	// answered is when a poll last saw all that it asked for; zero if none ever did. ReadErr is why
	// the newest one did not.
	answered time.Time
	ReadErr  error
	// Slowness, if set, is how many times slower than at its best the machine was since a time
	// (host.Speed).
	Slowness func(since time.Time) float64
	// pace is how the pods came along.
	pace pace
	// watcher follows a large cluster; nil for others. listed is when look last read all, troubled
	// whether pods were then pending or refused; watchChecked is when what was watched was last judged.
	watcher                  *observe.Watcher
	listed, watchChecked     time.Time
	listTook, watchCheckTook time.Duration
	troubled                 bool
}

// Outcome is what a passed gate has to say.
type Outcome struct {
	Pods        int
	Notes       []string
	NotVerified []string // what the references of the bundle lead to, and a run here cannot see
	Warnings    []string
}

// New is the gate of one cell. tell gets the progress, a line at a time.
func New(env *lane.Env, lane lane.Lane, budgets lane.Budgets, deadline Deadline, tell func(string)) *Gate {
	return &Gate{Env: env, lane: lane, budgets: budgets, deadline: deadline, tell: tell, since: map[string]time.Time{}}
}

// Pass waits. Reasons: DEPLOY_FAILED for what waiting does not fix, SCHEDULING_FAILED for pods,
// SYNC_TIMEOUT only for the deadline, PODS_TOO_SLOW for one at which pods were still becoming
// ready, and MACHINE_TOO_SLOW for one that passed on a machine that was far from its speed.
func (g *Gate) Pass(ctx context.Context) (Outcome, error) {
	if late := g.deadline.TooLate(); late != "" {
		return Outcome{}, reason.New(g.deadlineReason(), "not waited for: %s", late)
	}
	grace, sync := g.lane.Budget(g.budgets)
	if grace > 0 {
		if err := g.waitRoot(ctx, g.deadline.Shrink(grace)); err != nil {
			return Outcome{}, err
		}
	}
	watched, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		if g.watcher != nil {
			g.watcher.Stop()
		}
	}()
	full, begun := sync, time.Now()
	sync = g.deadline.Shrink(full)
	err := wait.For(ctx, g.Env.Cell.String()+" to be as the bundle says", wait.Options{Budget: sync, Interval: time.Second, Changed: g.tell}, func(ctx context.Context) wait.Result { return g.poll(ctx, watched) })
	if wait.IsTimeout(err) {
		g.pollAfterDeadline(ctx)
		err = g.blameMachine(g.timedOut(sync), begun)
		if sync < full && g.deadlineReason() == reason.JobDeadline && reason.Of(err) != reason.ClusterFailed {
			err = &reason.Error{Reason: reason.JobDeadline, Err: fmt.Errorf("the job deadline cut short this lane's budget of %s: %w", full, err)}
		}
		return Outcome{}, err
	}
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Pods: g.lastReport.Pods, Notes: g.notes(), NotVerified: g.references.Notes, Warnings: g.references.Warnings}, nil
}

// deadlineReason is what the job's deadline means for a gate: in a GitOps lane a sync that did not
// get its time (50, upstream's rule), in the helm lane, which has no sync, only the deadline.
func (g *Gate) deadlineReason() reason.Reason {
	if g.lane.TimeoutReason() == reason.SyncTimeout {
		return reason.SyncTimeout
	}
	return reason.JobDeadline
}

// waitRoot: the sync budget starts to run when the root object exists, or when its grace is over
// (upstream's rule: *_ROOT_GRACE). A root that comes late has the budget that is left, and one that
// never comes is the first of what is not there in the end.
func (g *Gate) waitRoot(ctx context.Context, grace time.Duration) error {
	err := wait.For(ctx, "the root object", wait.Options{Budget: grace, Changed: g.tell}, func(ctx context.Context) wait.Result {
		state, err := g.lane.Poll(ctx, g.Env)
		if err != nil {
			return g.readFailed(ctx, err)
		}
		g.gotAnswer()
		g.State = state
		if !state.RootSeen {
			return wait.NotYet("the root object does not exist yet")
		}
		return wait.Done()
	})
	if wait.IsTimeout(err) {
		if g.unanswered() {
			return g.noAnswer(grace)
		}
		return nil
	}
	return err
}

func (g *Gate) gotAnswer() { g.answered, g.ReadErr = time.Now(), nil }

// unanswered reports whether the API server was silent when the deadline passed: it never answered,
// or not for SuspectFor, whether its answers were errors or did not come at all. One failed look
// just before the deadline is not that.
func (g *Gate) unanswered() bool {
	return g.answered.IsZero() || time.Since(g.answered) >= lane.SuspectFor
}

// noAnswer: a deadline that passes without an answer says nothing about the sync.
func (g *Gate) noAnswer(budget time.Duration) error {
	last := g.ReadErr
	if last == nil {
		last = errors.New("the last request was still open")
	}
	return reason.New(reason.ClusterFailed, "the API server of cluster %s did not answer at the end of %s: %w", g.Env.Cluster.Name(), budget, last)
}

// lasts reports whether key has been seen in every look for d, or as much longer as the machine is
// slower.
func (g *Gate) lasts(key string, d time.Duration) bool {
	now := time.Now()
	first, ok := g.since[key]
	if !ok {
		g.since[key] = now
		return false
	}
	return now.Sub(first) >= g.stretched(d, first)
}

// keepOnly forgets what was not seen in this look.
func (g *Gate) keepOnly(prefix string, seen map[string]bool) {
	for k := range g.since {
		if strings.HasPrefix(k, prefix) && !seen[k] {
			delete(g.since, k)
		}
	}
}

func acceptedText(state lane.State) string {
	var texts []string
	for _, it := range state.Items {
		if it.State == lane.ItemAccepted {
			texts = append(texts, it.ID+" is "+it.Text)
		}
	}
	return strings.Join(texts, "; ")
}

// notes: a pass in another state than the canonical one says so.
func (g *Gate) notes() []string {
	var notes []string
	for _, it := range g.State.Items {
		if it.State == lane.ItemAccepted {
			notes = append(notes, it.ID+" passed as "+it.Text)
		}
	}
	return append(notes, g.lastReport.Notes...)
}

// timedOut: what the deployer has not done in time is a sync timeout. Where only pods are missing,
// more time for the sync would not have helped: that is a scheduling failure, whether the deployer
// reports everything as done or itself waits for those pods.
func (g *Gate) timedOut(budget time.Duration) error {
	if g.unanswered() {
		return g.noAnswer(budget)
	}
	open, done := g.openItems()
	if err := g.tooSlow(budget, open); err != nil {
		return err
	}
	if len(open) > 0 && g.podsExplain(open) {
		return &reason.Error{Reason: reason.SchedulingFailed, Err: g.podsTimedOut(budget)}
	}
	if len(open) > 0 {
		f := g.itemFinding(fmt.Sprintf("not ready after %s: ", budget), open)
		f.Findings[0].Story = slices.Concat(f.Findings[0].Story, g.lastReport.WaitingTexts(), done)
		return &reason.Error{Reason: g.lane.TimeoutReason(), Err: f}
	}
	if accepted := acceptedText(g.State); accepted != "" && len(g.lastReport.Waiting) == 0 {
		return &reason.Error{Reason: g.lane.TimeoutReason(), Err: result.NewFailure(result.Finding{
			Cause: fmt.Sprintf("not settled after %s: %s", budget, accepted), Story: done,
		})}
	}
	if len(g.lastMissing) > 0 {
		return &reason.Error{Reason: g.lane.TimeoutReason(), Err: observe.MissingFinding(g.lastMissing[0], g.lastMissing, fmt.Sprintf("still missing after %s: %s", budget, g.lastMissing[0]))}
	}
	if err := g.references.Err(); err != nil && len(g.lastReport.Waiting) == 0 {
		return err
	}
	return &reason.Error{Reason: reason.SchedulingFailed, Err: g.podsTimedOut(budget)}
}

// openItems are the items that are not there, those that wait for another one last; and then those
// that are. A deadline says the state of every one of them (faults F12), and the first screen has
// room for a dozen lines.
func (g *Gate) openItems() (open []lane.Item, done []string) {
	var blocked []lane.Item
	for _, it := range g.State.Items {
		switch it.State {
		case lane.ItemGood, lane.ItemAccepted:
			done = append(done, it.ID+": "+it.Text)
		case lane.ItemBlocked:
			blocked = append(blocked, it)
		default:
			open = append(open, it)
		}
	}
	return append(open, blocked...), done
}
