// Package gate decides whether what a bundle promises is in the cluster. It polls until everything
// is ready, something has failed for good, or the time is used up. It knows the expectation, what
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

	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// The time that something must last before the gate believes it, on the gate's own clock, from the
// first poll that saw it.
const (

	// pendingFor is for pods that the scheduler cannot place: it rejects a pod for a moment while a
	// claim binds or a quota is counted.
	pendingFor = 6 * time.Second
	// bindingFor is for pods that wait for a claim to be bound: kube-controller-manager looks at a claim
	// every 15 seconds, and at first it may not have seen a class that was created at the same moment.
	bindingFor = 20 * time.Second
	// growFor is for pods of which Karpenter has not said that it makes no node for them: it waits up to 10 s for
	// further pods, and the node has to be made and to become ready.
	growFor = 30 * time.Second
	// silentFor is for pods of which a scheduler that runs as a pod of the recipe has said nothing: it
	// starts with them, and may wait to be the leader.
	silentFor = 45 * time.Second
	// settleFor is for an accepted state that is not the canonical one: it may be on the way to
	// that. It is longer than several of the refreshes that the gate requests from Argo CD
	// (appLane.refresh).
	settleFor = 20 * time.Second
)

// Gate waits until the cluster matches the whole expectation, by name.
type Gate struct {
	Env     *lane.Env
	lane    lane.Lane
	budgets lane.Budgets
	// deadline shortens the budgets.
	deadline Deadline
	tell     func(string) // reports a change of state

	since      map[string]time.Time // when each condition that must last was first seen
	State      lane.State
	lastReport observe.WorkloadReport
	View       *observe.View
	// lastMissing are the expected objects that did not exist when everything else was ready.
	lastMissing []observe.MissingObject
	// differs is how the cluster's own rendering differs from the bundle's.
	differs differs
	// references are what the bundle refers to, judged once everything exists.
	references judge.Report
	// Bench has the checks; nil for none.
	Bench *judge.Bench
	// Answered is when a poll last read everything; zero if none ever did. ReadErr is the error of
	// the newest poll.
	Answered time.Time
	ReadErr  error
	// Slowness, if set, is how many times slower than at its best the machine was since a time
	// (host.Speed).
	Slowness func(since time.Time) float64
	// Watches are the cell's, by which a large cluster is followed; nil if it has none, and the gate makes its own.
	Watches *observe.Watches
	// Jobs says how Jobs ended that have been deleted since; nil if that was not watched.
	Jobs *observe.Jobs
	// FailedBefore are the Jobs that had failed before what is awaited was delivered.
	FailedBefore map[types.UID]bool
	// Spent are those of them that this delivery does not run again.
	Spent map[types.UID]bool
	// Schedulers are those that run as pods of the recipe.
	Schedulers []string
	// Groups are those of which nodes may be made.
	Groups []infra.NodeGroup
	// Awaited are objects that operators which run will report on.
	Awaited []infra.Awaited
	// leftOut are the objects that such an operator leaves out since something is missing that may
	// be simulated.
	leftOut []string
	// Contested says which objects programs that run write in turns; nil if none runs. watchedAt is
	// after how many turns each was watched last, and contested is what may be a fight yet.
	Contested func() ([]infra.Contest, error)
	watchedAt map[string]int
	contested string
	// pace is how fast pods became ready.
	pace pace
	// watcher follows a large cluster; nil for others. listed is when a poll last listed
	// everything, troubled whether pods were then pending or rejected; watchChecked is when the
	// watched state was last judged.
	watcher                  *observe.Watcher
	listed, watchChecked     time.Time
	listTook, watchCheckTook time.Duration
	troubled                 bool
}

// Outcome is the result of a passed gate.
type Outcome struct {
	Pods        int
	Notes       []string
	NotVerified []string // references that cannot be followed in this cluster
	Warnings    []string
	Ignored     []string
	Findings    []result.Finding // of checks with an ID
}

// New returns the gate of one cell. tell gets its progress, a line at a time.
func New(env *lane.Env, lane lane.Lane, budgets lane.Budgets, deadline Deadline, tell func(string)) *Gate {
	return &Gate{Env: env, lane: lane, budgets: budgets, deadline: deadline, tell: tell, since: map[string]time.Time{}}
}

// Pass waits until the cluster is as expected. Reasons: DEPLOY_FAILED for what waiting does not
// fix, SCHEDULING_FAILED and WORKLOAD_FAILED for pods, SYNC_TIMEOUT only for the deadline, PODS_TOO_SLOW if pods were
// still becoming ready at the deadline, and MACHINE_TOO_SLOW if the machine was far from its usual
// speed.
func (g *Gate) Pass(ctx context.Context) (Outcome, error) {
	out, err := g.pass(ctx)
	explainUnforeseen(err, g.differs.found)
	return out, err
}

func (g *Gate) pass(ctx context.Context) (Outcome, error) {
	if late := g.deadline.TooLate(); late != "" {
		return Outcome{}, reason.New(g.deadlineReason(), "not waited for: %s", late)
	}
	grace, sync := g.lane.Budget(g.budgets)
	if grace > 0 {
		if err := g.waitRoot(ctx, g.deadline.Shrink(grace)); err != nil {
			return Outcome{}, err
		}
	}
	if g.Watches == nil {
		g.Watches = observe.NewWatches(ctx, g.Env.Clients.Kube)
		defer g.Watches.Stop()
	}
	full, started := sync, time.Now()
	sync = g.deadline.Shrink(full)
	err := wait.For(ctx, g.Env.Cell.String()+" to be as the bundle says", wait.Options{Budget: sync, Interval: time.Second, Changed: g.tell}, g.poll)
	if wait.IsTimeout(err) {
		g.pollAfterDeadline(ctx)
		if !g.unanswered() {
			g.nameUnready(ctx)
		}
		err = g.blameMachine(g.timedOut(sync), started)
		if sync < full && g.deadlineReason() == reason.JobDeadline && reason.Of(err) != reason.ClusterFailed {
			err = &reason.Error{Reason: reason.JobDeadline, Err: fmt.Errorf("the job deadline cut short this lane's budget of %s: %w", full, err)}
		}
		return Outcome{}, err
	}
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Pods: g.lastReport.Pods, Notes: g.notes(), NotVerified: slices.Concat(g.references.Notes, g.leftOut), Warnings: g.references.Warnings, Ignored: g.references.Ignored, Findings: g.references.Findings}, nil
}

// deadlineReason returns what the job's deadline means for a gate. In a GitOps lane it is a sync
// that did not get its time (50, upstream's rule); the helm lane has no sync, so there it is only
// the deadline.
func (g *Gate) deadlineReason() reason.Reason {
	if g.lane.TimeoutReason() == reason.SyncTimeout {
		return reason.SyncTimeout
	}
	return reason.JobDeadline
}

// waitRoot waits for the root object, at most for its grace. Only then does the sync budget start
// to run (upstream's rule: *_ROOT_GRACE). A root that appears later has what is left of the budget.
// One that never appears is the first missing item in the end.
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

func (g *Gate) gotAnswer() { g.Answered, g.ReadErr = time.Now(), nil }

// unanswered reports whether the API server was silent when the deadline passed: it never answered,
// or not for SuspectFor, with errors or not at all. One failed poll just before the deadline is not
// enough.
func (g *Gate) unanswered() bool {
	return g.Answered.IsZero() || time.Since(g.Answered) >= lane.SuspectFor
}

// noAnswer returns CLUSTER_FAILED: the API server did not respond, so the sync state is unknown.
func (g *Gate) noAnswer(budget time.Duration) error {
	last := g.ReadErr
	if last == nil {
		last = errors.New("the last request was still open")
	}
	return reason.New(reason.ClusterFailed, "the API server of cluster %s did not answer at the end of %s: %w", g.Env.Cluster.Name(), budget, last)
}

// lasts reports whether key has been seen in every poll for d; longer on a slow machine.
func (g *Gate) lasts(key string, d time.Duration) bool {
	now := time.Now()
	first, ok := g.since[key]
	if !ok {
		g.since[key] = now
		return false
	}
	return now.Sub(first) >= g.stretched(d, first)
}

// keepOnly forgets the keys that were not seen in this poll.
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

// notes lists the items that passed in another state than the canonical one, or not at once.
func (g *Gate) notes() []string {
	var notes []string
	for _, it := range g.State.Items {
		if it.State == lane.ItemAccepted {
			notes = append(notes, it.ID+" passed as "+it.Text)
		}
		if it.Note != "" {
			notes = append(notes, it.Note)
		}
	}
	return slices.Concat(notes, g.lastReport.Notes, g.differs.notes())
}

// timedOut returns the verdict at the deadline. Objects that the deployer has not finished are a
// sync timeout. If only pods are missing, more time for the sync would not have helped: that is a
// scheduling failure, whether the deployer reports everything as done or itself waits for those
// pods.
func (g *Gate) timedOut(budget time.Duration) error {
	if g.unanswered() {
		return g.noAnswer(budget)
	}
	open, done := g.openItems()
	if err := g.tooSlow(budget, open); err != nil {
		return err
	}
	if len(open) > 0 && g.podsExplain(open) {
		return g.podsTimedOut(budget)
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
	return g.podsTimedOut(budget)
}

// openItems returns the items that are not ready, with those that wait for another one last, and
// the texts of those that are. A deadline reports the state of every item (faults F12), and the
// first screen has room for a dozen lines.
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
