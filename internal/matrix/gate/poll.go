package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// poll polls the cluster once.
func (g *Gate) poll(ctx context.Context) wait.Result {
	state, err := g.lane.Poll(ctx, g.Env)
	if err != nil {
		return g.readFailed(ctx, err)
	}
	if why := g.checkWatched(state); why != "" {
		g.gotAnswer()
		return wait.NotYet("%s", why)
	}
	start := time.Now()
	snap, err := observe.Poll(ctx, g.Env.Clients.Kube)
	if err != nil {
		return g.readFailed(ctx, err)
	}
	snap.Jobs, snap.Spent = g.Jobs, g.Spent
	if slices.ContainsFunc(state.Items, lane.Item.Open) { // else the deployer has done what it does with them
		snap.Earlier = g.FailedBefore
	}
	report := g.check(snap)
	if len(report.Waiting) > 0 {
		if err := snap.ReadRefusals(ctx, g.Env.Clients.Kube); err != nil {
			return g.readFailed(ctx, err)
		}
		if _, err := g.absentWorkloads(ctx, state, &report); err != nil {
			return g.readFailed(ctx, err)
		}
		report = g.check(snap)
	}
	if len(report.Pending) > 0 {
		if snap.Growth, err = observe.ReadGrowth(ctx, g.Env.Clients, g.Groups); err != nil {
			return g.readFailed(ctx, err)
		}
	}
	g.held(ctx, &report)
	g.State, g.lastReport, g.View = state, report, snap
	g.pace.note(time.Now(), &report)
	g.listed, g.listTook, g.troubled = time.Now(), time.Since(start), len(report.Pending)+len(report.Refused) > 0
	if g.watcher == nil && len(snap.Nodes) >= watchFrom {
		g.watcher = observe.Watch(g.Watches)
	}

	if err := g.failedFights(ctx); err != nil {
		return wait.Never(err)
	}
	if code, f := g.failedItems(state); f != nil {
		if stalledBy(f, report) {
			if err := g.failedPods(ctx, report, snap); err != nil {
				return wait.Never(err)
			}
			return wait.NotYet("%s", f) // until the others are heard, too
		}
		for i := range f.Findings {
			why.TraceField(ctx, g.Env.Input, g.Env.Bundle.Deployer, &f.Findings[i])
		}
		return wait.Never(&reason.Error{Reason: code, Err: f})
	}
	if err := g.failedPods(ctx, report, snap); err != nil {
		return wait.Never(err)
	}
	if err := g.failedPorts(report); err != nil {
		return wait.Never(err)
	}
	if f := g.failedCrashes(state, report); f != nil {
		return wait.Never(&reason.Error{Reason: reason.WorkloadFailed, Err: f})
	}
	if f := g.failedUnmade(ctx, state, report); f != nil {
		return wait.Never(&reason.Error{Reason: reason.WorkloadFailed, Err: f})
	}
	if r, ok := g.failedAwaited(ctx, state, report); !ok {
		return r
	}
	if why := g.lacking(state, report); why != "" {
		g.gotAnswer()
		g.resetTimers()
		return wait.NotYet("%s", why).Within(g.soon(state))
	}
	if report.Pods == 0 && !g.Env.Bundle.Expectation.NoPods { // everything is delivered and nothing runs: a pass would have verified nothing (faults F03)
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
	return g.checkObjects(ctx)
}

// resetTimers restarts the "missing" and "settling" periods after a regression.
func (g *Gate) resetTimers() {
	g.keepOnly("missing ", nil)
	g.keepOnly("settle ", nil)
	g.keepOnly("no pods", nil)
	g.lastMissing = nil
}

// checkObjects checks that every object exists, by name, which the deployer reports as delivered.
func (g *Gate) checkObjects(ctx context.Context) wait.Result {
	missing, err := g.missing(ctx)
	if err != nil {
		return g.readFailed(ctx, err)
	}
	g.gotAnswer()
	g.lastMissing = missing
	seen := map[string]bool{}
	for _, m := range missing {
		seen["missing "+m.String()] = true
	}
	g.keepOnly("missing ", seen)
	for _, m := range missing {
		if g.lasts("missing "+m.String(), lane.SuspectFor) {
			return wait.Never(&reason.Error{Reason: reason.DeployFailed, Err: observe.MissingFinding(m, missing, m.String()+" is reported as delivered, but does not exist in the cluster")})
		}
	}
	if len(missing) > 0 {
		return wait.NotYet("%s does not exist yet", missing[0])
	}
	if r, ok := g.checkAwaited(ctx); !ok {
		return r
	}
	if r, ok := g.checkHeld(ctx); !ok {
		return r
	}
	if r, ok := g.checkRejected(ctx); !ok {
		return r
	}
	if g.contested != "" {
		return wait.NotYet("%s", g.contested)
	}
	return g.checkReferences(ctx)
}

// missing returns the objects that do not exist and should.
func (g *Gate) missing(ctx context.Context) ([]observe.MissingObject, error) {
	for {
		e := g.expectation()
		missing, err := observe.MissingObjects(ctx, g.Env.Clients, slices.Concat(e.Objects, e.Made), g.Jobs)
		if err != nil || len(missing) == 0 {
			return missing, err
		}
		more, err := g.notRendered(ctx, func(o bundle.Object) bool {
			return slices.ContainsFunc(missing, func(m observe.MissingObject) bool { return m.Is(o.Ref()) })
		})
		if err != nil || !more {
			return missing, err
		}
	}
}

// readFailed handles a failed read. An API server that restarts answers again; one that forbids the
// read does not.
func (g *Gate) readFailed(ctx context.Context, err error) wait.Result {
	if ctx.Err() != nil {
		return wait.NotYet("%v", err) // the deadline's own echo: what was seen before counts
	}
	g.ReadErr = err
	if observe.Forbidden(err) {
		return wait.Never(&reason.Error{Reason: reason.ClusterFailed, Err: fmt.Errorf("read the cluster's state: %w", err)})
	}
	return wait.NotYet("read the cluster's state: %v", err)
}

// failedItems returns the failure of the items whose error is final or has lasted; nil if there is
// none. The first is the cause, and what is blocked is counted as its consequence.
func (g *Gate) failedItems(state lane.State) (reason.Reason, *result.Failure) {
	var failed []lane.Item
	seen := map[string]bool{}
	var blocked []lane.Item
	for _, it := range state.Items {
		switch it.State {
		case lane.ItemFailed:
			failed = append(failed, it)
		case lane.ItemSuspect:
			key := "suspect " + it.ID
			seen[key] = true
			if g.lasts(key, g.patience(it)) {
				failed = append(failed, it)
			}
		case lane.ItemBlocked:
			blocked = append(blocked, it)
		}
	}
	g.keepOnly("suspect ", seen)
	if len(failed) == 0 {
		return "", nil
	}
	slices.SortStableFunc(failed, func(a, b lane.Item) int { return cmp.Compare(blame(a), blame(b)) })
	f := g.itemFinding("", failed)
	f.Findings[0].Story = append(f.Findings[0].Story, consequences(failed, blocked, g.Env.Bundle.Expectation.Delivered)...)
	return cmp.Or(failed[0].Reason, reason.DeployFailed), f
}

// patience is how long an item's error must last: a webhook of the bundle may still be starting, and
// whoever is first must not decide the verdict.
func (g *Gate) patience(it lane.Item) time.Duration {
	least := max(lane.SuspectFor, it.Patience)
	if _, _, ok := lane.StartingWebhook(it.Text, g.Env.Bundle.Expectation); ok {
		return max(least, lane.WebhookPatience)
	}
	return least
}

// blame orders failed items: the first one's reason becomes the cell's verdict and exit code. A
// fault of the recipe, which has no reason of its own (DEPLOY_FAILED), comes before a fault of the
// stack: the author can fix it. Otherwise items keep the order in which the lane delivers them.
func blame(it lane.Item) int {
	if it.Reason == "" || it.Reason == reason.DeployFailed {
		return 0
	}
	return 1
}

// failedPods returns the failure of pods that stay unscheduled or rejected, and of Jobs that never
// complete; nil if there are none. The reason is that of the first finding.
// Reasons: SCHEDULING_FAILED, WORKLOAD_FAILED.
func (g *Gate) failedPods(ctx context.Context, r observe.WorkloadReport, s *observe.View) error {
	seen := map[string]bool{}
	lasting := observe.WorkloadReport{Wrong: slices.Concat(r.Wrong, g.stuckJobs(&r))}
	for i := range r.Pending {
		p, least := &r.Pending[i], pendingFor
		key := "pending " + observe.PodName(p.Pod)
		if p.Silent() && slices.Contains(g.Schedulers, p.OtherScheduler) {
			p.OwnScheduler, least, key = true, silentFor, "pending silent "+observe.PodName(p.Pod)
			p.Message = "its scheduler " + p.OtherScheduler + " runs as a pod of the recipe, and has said nothing of it"
			p.Kept = p.Message
		}
		if s.Growth.May(p.Pod) {
			least, key = growFor, "pending until a node is made "+observe.PodName(p.Pod)
		}
		seen[key] = true
		if g.lasts(key, least) {
			lasting.Pending = append(lasting.Pending, *p)
		}
	}
	g.keepOnly("pending ", seen)
	refused, rejected := map[string]bool{}, map[*bundle.Workload]bool{}
	for _, w := range r.Refused {
		key := "refused " + observe.WorkloadKey(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name)
		refused[key] = true
		if g.lasts(key, lane.SuspectFor) && w.Lasting(&g.Env.Bundle.Expectation) {
			lasting.Wrong = append(slices.Clip(lasting.Wrong), w.Wrong(&g.Env.Bundle.Expectation))
			rejected[w.Workload] = true
		}
	}
	g.keepOnly("refused ", refused)
	if all := g.heardAll(&r); !all || len(lasting.Pending) == 0 && len(lasting.Wrong) == 0 {
		return nil
	}
	_ = s.ReadScheduling(ctx, g.Env.Clients.Kube) // on an error the explanation says less; the verdict is the same
	if len(lasting.Wrong) == 0 && !slices.ContainsFunc(lasting.Pending, func(p observe.PendingPod) bool { return !g.mayBind(p.Pod, s) }) {
		return nil
	}
	believed := len(lasting.Pending) > 0
	lasting.Pending = r.Pending // all belong in the failure report
	why.TraceValues(ctx, g.Env.Input, g.Env.Bundle.Deployer, &lasting, s)
	if believed {
		return &reason.Error{Reason: reason.SchedulingFailed, Err: why.SchedulingFinding(g.expectation(), lasting, s)}
	}
	code := reason.WorkloadFailed
	if lasting.Wrong[0].Scheduling() {
		code = reason.SchedulingFailed
	}
	f := why.SchedulingFinding(g.expectation(), observe.WorkloadReport{Wrong: lasting.Wrong}, s)
	if rejected[lasting.Wrong[0].Workload] {
		f.Stage = result.StageApply
	}
	f.Findings = append(f.Findings, why.SchedulingFinding(g.expectation(), observe.WorkloadReport{Pending: lasting.Pending}, s).Findings...)
	return &reason.Error{Reason: code, Err: f}
}

// mayBind reports whether a pod waits for a claim that its class may still bind: bindingFor is not over.
func (g *Gate) mayBind(p *corev1.Pod, s *observe.View) bool {
	return s.Volumes.Unbound(p) && !g.lasts("pending "+observe.PodName(p), bindingFor)
}

// lacking returns the shortest true statement of what is not ready yet; "" if everything is.
func (g *Gate) lacking(state lane.State, r observe.WorkloadReport) string {
	var items []string
	for _, it := range state.Items {
		if it.Open() {
			items = append(items, it.ID+" "+result.FirstLine(it.Text))
		}
	}
	if len(items) > 0 {
		return fmt.Sprintf("%d of %d ready; %s", len(state.Items)-len(items), len(state.Items), items[0])
	}
	if len(r.Waiting) > 0 {
		return fmt.Sprintf("%d workloads not ready; %s", len(r.Waiting), r.Waiting[0])
	}
	return ""
}
