package gate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	// standstill is how long no further pod may become ready, be placed or be created before the
	// pods count as stuck.
	standstill = 15 * time.Second
	// overtakenBy is how much later another pod may have been created and still be further on.
	// Timestamps of pods are whole seconds, and KWOK and the scheduler take pods roughly in the
	// order of creation.
	overtakenBy = 15 * time.Second
	// steps are the intervals before the deadline in each of which more pods must have become
	// ready. readings are those that are kept, four a second at most.
	steps    = 3
	step     = standstill / steps
	readings = 256
	// turns divides the budget: controllers handle a large cluster's workloads in turn, so that one
	// of them may wait for that long.
	turns = 8
)

// soonest is the least pause between two polls.
const soonest = 250 * time.Millisecond

// soon is the pause until the next poll while only pods are lacking, which may be ready at any moment;
// 0 for the usual one. A poll that takes long is a cluster, or a machine, that has better things to do.
func (g *Gate) soon(state lane.State) time.Duration {
	if slices.ContainsFunc(state.Items, lane.Item.Open) {
		return 0
	}
	return max(soonest, idle*g.listTook)
}

// pace is how fast the pods of a cell became ready, poll by poll. At a deadline it distinguishes
// pods that only needed more time from pods that are stuck.
type pace struct {
	ready []count          // the last readings of pods in their final state
	most  count            // the maximum: a pod that is ready now and then is no growth
	made  map[string]count // pods of a workload, and when their number last grew
}

// count is a number of pods, and when it was seen or last grew.
type count struct {
	pods int
	at   time.Time
}

// note records what a poll saw.
func (p *pace) note(now time.Time, r *observe.WorkloadReport) {
	if r.Pods > p.most.pods {
		p.most = count{r.Pods, now}
	}
	p.ready = append(p.ready, count{r.Pods, now})
	if len(p.ready) > readings {
		p.ready = slices.Delete(p.ready, 0, 1)
	}
	if p.made == nil {
		p.made = map[string]count{}
	}
	for i := range r.Waiting {
		w := &r.Waiting[i]
		key := observe.WorkloadKey(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name)
		if before, ok := p.made[key]; w.Made > before.pods || !ok && w.Want > 0 {
			p.made[key] = count{w.Made, now}
		}
	}
}

// rate returns how many pods became ready per second recently. It is 0 unless more were ready at
// each of the last few readings that are a step apart. In a small cell, the last healthy pods may
// become ready just before the deadline, which says nothing about one that is stuck.
func (p *pace) rate() float64 {
	if len(p.ready) == 0 {
		return 0
	}
	last := p.ready[len(p.ready)-1]
	from := last
	for range steps {
		i := len(p.ready) - 1
		for i >= 0 && from.at.Sub(p.ready[i].at) < step {
			i--
		}
		if i < 0 || p.ready[i].pods >= from.pods {
			return 0
		}
		from = p.ready[i]
	}
	return float64(last.pods-from.pods) / last.at.Sub(from.at).Seconds()
}

// queue is how far the scheduler and KWOK have come, by the pods of a poll.
type queue struct {
	placed time.Time // when the last pod was placed
	// placedOf is when the youngest pod that has a node was created, readyOf when the ready pod
	// that was placed last was placed.
	placedOf, readyOf time.Time
}

func queueOf(pods []corev1.Pod) queue {
	var q queue
	later := func(at *time.Time, t time.Time) {
		if t.After(*at) {
			*at = t
		}
	}
	for i := range pods {
		p := &pods[i]
		if p.Spec.NodeName == "" {
			continue
		}
		later(&q.placed, placedAt(p))
		later(&q.placedOf, p.CreationTimestamp.Time)
		if p.Status.Phase == corev1.PodSucceeded || observe.PodReady(p) {
			later(&q.readyOf, placedAt(p))
		}
	}
	return q
}

// placedAt returns when a pod got its node.
func placedAt(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

// comes reports whether a pod that is not ready is still making progress: no later pod has got
// further, and it has not failed.
func (q queue) comes(p *corev1.Pod, now time.Time) bool {
	switch {
	case p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodUnknown:
		return false
	case p.Spec.NodeName == "":
		return now.Sub(q.placed) < standstill && q.placedOf.Sub(p.CreationTimestamp.Time) < overtakenBy
	}
	return q.readyOf.Sub(placedAt(p)) < overtakenBy
}

// tooSlow returns PODS_TOO_SLOW if pods lacked nothing but time at the deadline; nil if anything
// else was missing, or if that cannot be known. Then the verdict is the one for stuck pods.
func (g *Gate) tooSlow(budget time.Duration, open []lane.Item) error {
	r, now := &g.lastReport, time.Now()
	if len(r.Waiting) == 0 || len(r.Pending)+len(r.Wrong)+len(r.Refused) > 0 || now.Sub(g.pace.most.at) >= standstill || g.pace.rate() == 0 || g.View == nil {
		return nil
	}
	if len(open) > 0 && !g.podsExplain(open) {
		return nil
	}
	coming := map[string]bool{} // workloads whose pods make progress
	missing := 0
	q := queueOf(g.View.Pods)
	for i := range r.Waiting {
		w := &r.Waiting[i]
		if w.Want == 0 {
			continue
		}
		key := observe.WorkloadKey(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name)
		if w.Made > w.Want || w.Made < w.Want && now.Sub(g.pace.made[key].at) >= max(standstill, budget/turns) {
			return nil
		}
		for _, p := range w.Late {
			if !q.comes(p, now) {
				return nil
			}
		}
		coming[key] = true
		missing += w.Want - w.Made + len(w.Late)
	}
	for i := range r.Waiting {
		w := &r.Waiting[i]
		if !coming[observe.WorkloadKey(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name)] && !g.notReached(w, open) {
			return nil
		}
	}
	if missing == 0 {
		return nil
	}
	return &reason.Error{Reason: reason.PodsTooSlow, Err: g.slowFinding(budget, missing)}
}

// notReached reports whether the deployer has not come to the workload because it waits for pods.
func (g *Gate) notReached(w *observe.WaitingWorkload, open []lane.Item) bool {
	return !w.Started && slices.ContainsFunc(open, func(it lane.Item) bool {
		return componentOf(it.Ref, g.Env.Bundle.Expectation.Releases) == w.Workload.Component && w.Workload.Component != ""
	})
}

func (g *Gate) slowFinding(budget time.Duration, missing int) *result.Failure {
	f := result.Finding{Cause: fmt.Sprintf("pods were still becoming ready after %s: %d are ready and %d are not", budget, g.lastReport.Pods, missing)}
	rate := g.pace.rate()
	rest := time.Duration(float64(missing) / rate * float64(time.Second)).Round(time.Second)
	f.Story = append(f.Story, fmt.Sprintf("%.1f pods became ready per second at the end; at that rate the rest would have taken about %s", rate, max(rest, time.Second)))
	f.Story = append(f.Story, g.lastReport.WaitingTexts()...)
	for i, w := range g.lastReport.Waiting {
		ref := observe.WorkloadRef(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name)
		if i > 0 {
			f.Others = append(f.Others, ref)
			continue
		}
		f.Object, f.Component = &ref, w.Workload.Component
	}
	return result.NewFailure(f)
}
