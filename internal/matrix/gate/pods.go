package gate

import (
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
)

// noPods reports that all workloads are as expected and none of them has a pod.
func (g *Gate) noPods() *result.Failure {
	f := result.Finding{Cause: "no pod was verified: everything is delivered, and none of the workloads has a pod"}
	for i := range g.Env.Bundle.Expectation.Workloads {
		w := &g.Env.Bundle.Expectation.Workloads[i]
		line := fmt.Sprintf("%s (%s): ", observe.WorkloadKey(w.Kind, w.Namespace, w.Name), w.Component)
		switch {
		case w.Kind == "CronJob":
			line += "creates pods on its schedule"
		case w.Ephemeral:
			line += "a hook that has been deleted"
		case w.Replicas == 0:
			line += "0 pods wanted"
		default:
			line += "no node in this cluster matches it"
		}
		f.Story = append(f.Story, line)
		f.Others = append(f.Others, observe.WorkloadRef(w.Kind, w.Namespace, w.Name))
	}
	return result.NewFailure(f)
}

// podsExplain reports whether each open item belongs to a release with an existing workload that is
// not ready, or one that its operator has not made. Helm, Argo CD and Flux wait for a hook's Job, and some of them for
// every pod, so that the item is a consequence; so it is of a workload that it is behind. Roots and items that wait for
// others do not count.
func (g *Gate) podsExplain(open []lane.Item) bool {
	late := map[string]bool{}
	for _, w := range g.lastReport.Waiting {
		if w.Started || w.Unmade {
			late[w.Workload.Component] = true
		}
	}
	return g.explained(open, late)
}

// explained reports whether these items wait for what is late in these components, or for each other.
func (g *Gate) explained(open []lane.Item, late map[string]bool) bool {
	e := &g.Env.Bundle.Expectation
	explained := 0
	for _, it := range open {
		root := slices.ContainsFunc(e.Delivered, func(d bundle.Delivered) bool { return d.Root && d.Ref == it.Ref })
		switch component := componentOf(it.Ref, e.Releases); {
		case late[it.Behind] && it.Behind != "", late[component] && component != "":
			explained++
		case !root && it.State != lane.ItemBlocked:
			return false
		}
	}
	return explained > 0
}

// podsTimedOut reports that pods are missing, and nothing else. Those that exist and are not ready
// come first. A pod without a node is the scheduler's matter, and any other its workload's.
// Reasons: SCHEDULING_FAILED, WORKLOAD_FAILED.
func (g *Gate) podsTimedOut(budget time.Duration) error {
	if len(g.lastReport.Pending) > 0 {
		f := why.SchedulingFinding(g.expectation(), g.lastReport, g.View)
		f.More = g.lastReport.WaitingTexts()
		return &reason.Error{Reason: reason.SchedulingFailed, Err: f}
	}
	waiting := slices.Clone(g.lastReport.Waiting)
	slices.SortStableFunc(waiting, func(a, b observe.WaitingWorkload) int {
		switch {
		case a.Started == b.Started:
			return 0
		case a.Started:
			return -1
		}
		return 1
	})
	code := reason.WorkloadFailed
	f := result.Finding{Cause: fmt.Sprintf("pods did not reach the expected state within %s", budget)}
	if g.lastReport.Pods == 0 {
		f.Cause += ": no pod was verified"
	}
	for i, late := range waiting {
		f.Story = append(f.Story, late.String())
		ref := observe.WorkloadRef(late.Workload.Kind, late.Workload.Namespace, late.Workload.Name)
		if i > 0 {
			f.Others = append(f.Others, ref)
			continue
		}
		f.Cause += ": " + late.String()
		f.Object, f.Component = &ref, late.Workload.Component
		if slices.ContainsFunc(waiting, func(o observe.WaitingWorkload) bool { return o.Workload == late.Workload && hasUnplaced(o.Late) }) {
			code = reason.SchedulingFailed
		}
	}
	return &reason.Error{Reason: code, Err: result.NewFailure(f)}
}

// hasUnplaced reports whether one of the pods has no node yet.
func hasUnplaced(pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })
}

// heardAll reports whether what is wrong can be told whole: each workload that exists has its pods
// or a refusal, and the scheduler has looked at those pods. Otherwise one wrong workload would hide
// the others that are a second behind it. Each is waited for as long as a pending pod is.
func (g *Gate) heardAll(r *observe.WorkloadReport) bool {
	const prefix = "undecided "
	all, seen := true, map[string]bool{}
	for i := range r.Waiting {
		if w := &r.Waiting[i]; w.Undecided {
			key := prefix + observe.WorkloadKey(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name)
			seen[key] = true
			all = g.lasts(key, pendingFor) && all
		}
	}
	g.keepOnly(prefix, seen)
	return all
}
