package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/wait"
)

// How long something must last before the gate believes it. All are measured on the gate's own clock, from the first look that
// saw it.
const (
	// suspectFor: a controller's error that it tries again is a failure once it has lasted this long without a change.
	suspectFor = 10 * time.Second
	// pendingFor: the scheduler refuses a pod for a moment while a claim binds or a quota is counted.
	pendingFor = 6 * time.Second
	// settleFor: a state that passes without being the canonical one may be a moment on the way to it; longer than several of the
	// refreshes that the gate asks Argo CD for (argoCDLane.refresh).
	settleFor = 20 * time.Second
)

// gate waits until the cluster is what the expectation says. The whole expectation, by name.
type gate struct {
	env     *Env
	lane    Lane
	budgets Budgets
	// deadline shortens the budgets.
	deadline Deadline
	tell     func(string) // a change of state, for a person

	since     map[string]time.Time // when something that must last was first seen
	lastState LaneState
	lastLook  workloadReport
	lastSnap  *snapshot
	// lastMissing are the expected objects that did not exist when everything else was as it should be.
	lastMissing []missingObject
	// answered is when a look last saw all that it asked for; zero if none ever did. readErr is why the newest one did not.
	answered time.Time
	readErr  error
}

// outcome is what a passed gate has to say.
type outcome struct {
	pods  int
	notes []string
}

func newGate(env *Env, lane Lane, budgets Budgets, deadline Deadline, tell func(string)) *gate {
	return &gate{env: env, lane: lane, budgets: budgets, deadline: deadline, tell: tell, since: map[string]time.Time{}}
}

// pass waits. Reasons: DEPLOY_FAILED for what waiting does not mend, SCHEDULING_FAILED for pods, SYNC_TIMEOUT only for the deadline.
func (g *gate) pass(ctx context.Context) (outcome, error) {
	if late := g.deadline.tooLate(); late != "" {
		return outcome{}, reason.New(g.deadlineReason(), "not waited for: %s", late)
	}
	grace, sync := g.lane.Budget(g.budgets)
	if grace > 0 {
		if err := g.waitRoot(ctx, g.deadline.shrink(grace)); err != nil {
			return outcome{}, err
		}
	}
	full := sync
	sync = g.deadline.shrink(full)
	err := wait.For(ctx, g.env.Cell.String()+" to be as the bundle says", wait.Options{Budget: sync, Interval: time.Second, Changed: g.tell}, g.look)
	if wait.IsTimeout(err) {
		err = g.timedOut(sync)
		if sync < full && g.deadlineReason() == reason.JobDeadline && reason.Of(err) != reason.ClusterFailed {
			err = &reason.Error{Reason: reason.JobDeadline, Err: fmt.Errorf("the job's deadline came before the %s of this lane were over: %w", full, err)}
		}
		return outcome{}, err
	}
	if err != nil {
		return outcome{}, err
	}
	return outcome{pods: g.lastLook.pods, notes: g.notes()}, nil
}

// deadlineReason is what the job's deadline means for a gate: in a GitOps lane a sync that did not get its time (50, upstream's rule), in
// the helm lane, which has no sync, only the deadline.
func (g *gate) deadlineReason() reason.Reason {
	if g.lane.TimeoutReason() == reason.SyncTimeout {
		return reason.SyncTimeout
	}
	return reason.JobDeadline
}

// waitRoot: the sync budget starts to run when the root object is there (upstream's rule: *_ROOT_GRACE).
func (g *gate) waitRoot(ctx context.Context, grace time.Duration) error {
	err := wait.For(ctx, "the root object", wait.Options{Budget: grace, Changed: g.tell}, func(ctx context.Context) wait.Result {
		state, err := g.lane.Look(ctx, g.env)
		if err != nil {
			return g.lookFailed(ctx, err)
		}
		g.gotAnswer()
		g.lastState = state
		if !state.RootSeen {
			return wait.NotYet("the root object does not exist yet")
		}
		return wait.Done()
	})
	if wait.IsTimeout(err) {
		if g.unanswered() {
			return g.noAnswer(grace)
		}
		return &reason.Error{Reason: reason.SyncTimeout, Err: err}
	}
	return err
}

func (g *gate) gotAnswer() { g.answered, g.readErr = time.Now(), nil }

// unanswered reports whether the API server was silent when the deadline passed: it never answered, or not for suspectFor, whether its
// answers were errors or did not come at all. One failed look just before the deadline is not that.
func (g *gate) unanswered() bool { return g.answered.IsZero() || time.Since(g.answered) >= suspectFor }

// noAnswer: a deadline that passes without an answer says nothing about the sync.
func (g *gate) noAnswer(budget time.Duration) error {
	last := g.readErr
	if last == nil {
		last = errors.New("the last request was still open")
	}
	return reason.New(reason.ClusterFailed, "the API server of cluster %s did not answer at the end of %s: %w", g.env.Cluster.Name(), budget, last)
}

func (g *gate) look(ctx context.Context) wait.Result {
	state, err := g.lane.Look(ctx, g.env)
	if err != nil {
		return g.lookFailed(ctx, err)
	}
	snap, err := takeSnapshot(ctx, g.env.Clients.Kube)
	if err != nil {
		return g.lookFailed(ctx, err)
	}
	report := checkWorkloads(g.env.Bundle.Expectation.Workloads, snap)
	g.lastState, g.lastLook, g.lastSnap = state, report, snap

	if why, f := g.failedItems(state); f != nil {
		return wait.Never(&reason.Error{Reason: why, Err: f})
	}
	if f := g.failedScheduling(ctx, report, snap); f != nil {
		return wait.Never(&reason.Error{Reason: reason.SchedulingFailed, Err: f})
	}
	if why := g.lacking(state, report); why != "" {
		g.gotAnswer()
		// What was missing, or settling, before this is another matter when it comes again.
		g.keepOnly("missing ", nil)
		g.keepOnly("settle ", nil)
		g.keepOnly("no pods", nil)
		g.lastMissing = nil
		return wait.NotYet("%s", why)
	}
	if report.pods == 0 { // everything is delivered and nothing runs: a green here would have verified nothing (faults F03)
		g.gotAnswer()
		if g.lasts("no pods", pendingFor) {
			return wait.Never(&reason.Error{Reason: reason.SchedulingFailed, Err: g.noPods()})
		}
		return wait.NotYet("no pod was verified")
	}
	accepted := acceptedText(state)
	g.keepOnly("settle ", map[string]bool{"settle " + accepted: true})
	if accepted != "" && !g.lasts("settle "+accepted, settleFor) {
		g.gotAnswer()
		return wait.NotYet("%s", accepted)
	}
	return g.allThere(ctx)
}

// allThere: what the deployer reports as delivered must exist, every object by name.
func (g *gate) allThere(ctx context.Context) wait.Result {
	missing, err := missingObjects(ctx, g.env.Clients, g.env.Bundle.Expectation.Objects)
	if err != nil {
		return g.lookFailed(ctx, err)
	}
	g.gotAnswer()
	g.lastMissing = missing
	seen := map[string]bool{}
	for _, m := range missing {
		seen["missing "+m.String()] = true
	}
	g.keepOnly("missing ", seen)
	for _, m := range missing {
		if g.lasts("missing "+m.String(), suspectFor) {
			return wait.Never(&reason.Error{Reason: reason.DeployFailed, Err: missingFinding(m, missing, m.String()+" is reported as delivered, but does not exist in the cluster")})
		}
	}
	if len(missing) > 0 {
		return wait.NotYet("%s does not exist yet", missing[0])
	}
	return wait.Done()
}

// lookFailed: an API server that restarts answers again; one that forbids will not.
func (g *gate) lookFailed(ctx context.Context, err error) wait.Result {
	if ctx.Err() != nil {
		return wait.NotYet("%v", err) // the deadline's own echo: what was seen before counts
	}
	g.readErr = err
	if forbidden(err) {
		return wait.Never(&reason.Error{Reason: reason.ClusterFailed, Err: fmt.Errorf("read the cluster's state: %w", err)})
	}
	return wait.NotYet("read the cluster's state: %v", err)
}

// lasts reports whether key has been seen in every look for d.
func (g *gate) lasts(key string, d time.Duration) bool {
	now := time.Now()
	first, ok := g.since[key]
	if !ok {
		g.since[key] = now
		return false
	}
	return now.Sub(first) >= d
}

// keepOnly forgets what was not seen in this look.
func (g *gate) keepOnly(prefix string, seen map[string]bool) {
	for k := range g.since {
		if strings.HasPrefix(k, prefix) && !seen[k] {
			delete(g.since, k)
		}
	}
}

// failedItems: errors that are final, or have lasted. The first is the cause; what is blocked is counted as its consequence. What says
// something about the recipe comes before what says something about the stack.
func (g *gate) failedItems(state LaneState) (reason.Reason, *finding) {
	var failed []Item
	seen := map[string]bool{}
	var blocked []Item
	for _, it := range state.Items {
		switch it.State {
		case ItemFailed:
			failed = append(failed, it)
		case ItemSuspect:
			key := "suspect " + it.ID
			seen[key] = true
			if g.lasts(key, max(suspectFor, it.Patience)) {
				failed = append(failed, it)
			}
		case ItemBlocked:
			blocked = append(blocked, it)
		}
	}
	g.keepOnly("suspect ", seen)
	if len(failed) == 0 {
		return "", nil
	}
	slices.SortStableFunc(failed, func(a, b Item) int {
		return cmp.Compare(len(a.Reason), len(b.Reason)) // those without one first
	})
	f := g.itemFinding("", failed)
	f.findings[0].Story = append(f.findings[0].Story, consequences(failed, blocked, g.env.Bundle.Expectation.Delivered)...)
	return cmp.Or(failed[0].Reason, reason.DeployFailed), f
}

func (g *gate) failedScheduling(ctx context.Context, r workloadReport, s *snapshot) *finding {
	seen := map[string]bool{}
	lasting := workloadReport{wrong: r.wrong}
	for _, p := range r.pending {
		key := "pending " + podName(p.pod)
		seen[key] = true
		if g.lasts(key, pendingFor) {
			lasting.pending = append(lasting.pending, p)
		}
	}
	g.keepOnly("pending ", seen)
	if len(lasting.pending) == 0 && len(lasting.wrong) == 0 {
		return nil
	}
	// All pending pods belong in the story once one of them is believed.
	lasting.pending = r.pending
	world := worldOf(s)
	_ = world.readRest(ctx, g.env.Clients.Kube) // without it the explanation says less, and the verdict is the same
	return schedulingFinding(lasting, world)
}

// lacking is the shortest true statement of what is not there yet; "" when nothing is.
func (g *gate) lacking(state LaneState, r workloadReport) string {
	var items []string
	for _, it := range state.Items {
		if it.State != ItemGood && it.State != ItemAccepted {
			items = append(items, it.ID+" "+firstLine(it.Text))
		}
	}
	if len(items) > 0 {
		return fmt.Sprintf("%d of %d ready; %s", len(state.Items)-len(items), len(state.Items), items[0])
	}
	if len(r.waiting) > 0 {
		return fmt.Sprintf("%d workloads not ready; %s", len(r.waiting), r.waiting[0])
	}
	return ""
}

func acceptedText(state LaneState) string {
	var texts []string
	for _, it := range state.Items {
		if it.State == ItemAccepted {
			texts = append(texts, it.ID+" is "+it.Text)
		}
	}
	return strings.Join(texts, "; ")
}

// notes: a pass in another state than the canonical one says so.
func (g *gate) notes() []string {
	var notes []string
	for _, it := range g.lastState.Items {
		if it.State == ItemAccepted {
			notes = append(notes, it.ID+" passed as "+it.Text)
		}
	}
	return append(notes, g.lastLook.notes...)
}

// timedOut: what the deployer has not done in time is a sync timeout. Where the deployer reports everything as done and only pods
// are missing, more time for the sync would not have helped: that is a scheduling failure.
func (g *gate) timedOut(budget time.Duration) error {
	if g.unanswered() {
		return g.noAnswer(budget)
	}
	open, done := g.openItems()
	if len(open) > 0 {
		f := g.itemFinding(fmt.Sprintf("not there after %s: ", budget), open)
		f.findings[0].Story = slices.Concat(f.findings[0].Story, g.lastLook.waitingTexts(), done)
		return &reason.Error{Reason: g.lane.TimeoutReason(), Err: f}
	}
	if accepted := acceptedText(g.lastState); accepted != "" && len(g.lastLook.waiting) == 0 {
		return &reason.Error{Reason: g.lane.TimeoutReason(), Err: oneFinding(result.Finding{
			Cause: fmt.Sprintf("not settled after %s: %s", budget, accepted), Story: done,
		})}
	}
	if len(g.lastMissing) > 0 {
		return &reason.Error{Reason: g.lane.TimeoutReason(), Err: missingFinding(g.lastMissing[0], g.lastMissing, fmt.Sprintf("not there after %s: %s", budget, g.lastMissing[0]))}
	}
	return &reason.Error{Reason: reason.SchedulingFailed, Err: g.podsTimedOut(budget)}
}

// openItems are the items that are not there, those that wait for another one last; and then those that are. A deadline says the state of
// every one of them (faults F12), and the first screen has room for a dozen lines.
func (g *gate) openItems() (open []Item, done []string) {
	var blocked []Item
	for _, it := range g.lastState.Items {
		switch it.State {
		case ItemGood, ItemAccepted:
			done = append(done, it.ID+": "+it.Text)
		case ItemBlocked:
			blocked = append(blocked, it)
		default:
			open = append(open, it)
		}
	}
	return append(open, blocked...), done
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
