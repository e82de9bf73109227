package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// stuckFor is how long the pods of a Job must stay as they are, while no other pod becomes ready,
// before the Job counts as one that never completes: a simulated pod ends at once.
const stuckFor = 20 * time.Second

// stuckJobs returns the Jobs whose pods have a node and do not end. A pod without a node is pending
// or waits for the scheduler; one whose program runs for real takes its time.
func (g *Gate) stuckJobs(r *observe.WorkloadReport) []observe.WrongWorkload {
	var stuck []observe.WrongWorkload
	seen := map[string]bool{}
	for i := range r.Waiting {
		w := &r.Waiting[i]
		if w.Workload.Kind != "Job" || len(w.Late) == 0 || slices.ContainsFunc(w.Late, g.takesItsTime) {
			continue
		}
		var states []string
		for _, p := range w.Late {
			states = append(states, fmt.Sprintf("pod %s on node %s is %s", observe.PodName(p), p.Spec.NodeName, p.Status.Phase))
		}
		key := fmt.Sprintf("stuck %s %d %s", observe.WorkloadKey("Job", w.Workload.Namespace, w.Workload.Name), w.Made, strings.Join(states, ", "))
		seen[key] = true
		if g.lasts(key, stuckFor) && time.Since(g.pace.most.at) >= g.stretched(stuckFor, g.pace.most.at) {
			stuck = append(stuck, observe.WrongWorkload{Workload: w.Workload, Text: fmt.Sprintf("not complete yet, and nothing has changed for %s: %s", stuckFor, states[0])})
		}
	}
	g.keepOnly("stuck ", seen)
	return stuck
}

// takesItsTime reports whether it is not the simulation that ends a pod. One that has failed is
// tried again, after a time that doubles.
func (g *Gate) takesItsTime(p *corev1.Pod) bool {
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed {
		return true
	}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if g.Env.Cluster != nil && g.Env.Cluster.Runs(&list[i]) {
				return true
			}
		}
	}
	return false
}

// stalledBy reports whether a release has failed because a workload has, which the report knows better: a
// deployer says that it has failed, and not why. In a lane whose deployer waits longer, the workload's own
// failure comes first.
func stalledBy(f *result.Failure, r observe.WorkloadReport) bool {
	return slices.ContainsFunc(r.Wrong, func(w observe.WrongWorkload) bool {
		failed := fmt.Sprintf("%s/%s/%s status: 'Failed'", w.Workload.Kind, w.Workload.Namespace, w.Workload.Name)
		helm := fmt.Sprintf(": job %s failed: ", w.Workload.Name) // which names no namespace
		argo := ": " + observe.WorkloadKey(w.Workload.Kind, w.Workload.Namespace, w.Workload.Name) + ": "
		return slices.ContainsFunc(f.Findings, func(f result.Finding) bool {
			return strings.Contains(f.Cause, failed) || w.Workload.Hook && f.Component == w.Workload.Component && (strings.Contains(f.Cause, helm) || strings.Contains(f.Cause, argo))
		})
	})
}
