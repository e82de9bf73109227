// Package room compares how many pods workloads want with how many the nodes of a cluster may have
// (allocatable pods). It must not know what the pods request, which is for the scheduler to say.
package room

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// few is a number of pods that every cluster here has room for, so that its nodes need not be read.
const few = 100

// Any reports whether a workload of a bundle wants so many pods that the nodes matter.
func Any(e *bundle.Expectation) bool { return slices.ContainsFunc(e.Workloads, many) }

func many(w bundle.Workload) bool { return w.Replicas > few && atOnce(&w) }

// atOnce reports whether a workload wants all its pods at the same time. Those of a Job may come one
// after the other.
func atOnce(w *bundle.Workload) bool { return w.Kind != "Job" && w.Kind != "CronJob" }

// Of is how many pods the nodes may have together.
func Of(nodes []*corev1.Node) int {
	room := 0
	for _, n := range nodes {
		room += int(n.Status.Allocatable.Pods().Value())
	}
	return room
}

// Pods is the number of pods that a cell may come to have: of a workload that wants more than there
// is room for, only as many as fit. Otherwise the time that it is given would grow with a number that
// no cluster here can reach.
func Pods(e *bundle.Expectation, nodes []*corev1.Node) int {
	pods, room := 0, Of(nodes)
	for i := range e.Workloads {
		switch w := &e.Workloads[i]; {
		case w.Replicas < 0: // a DaemonSet
			pods += len(nodes)
		case atOnce(w):
			pods += min(w.Replicas, room)
		default:
			pods += w.Replicas
		}
	}
	return pods
}

// Find returns the workloads that alone want more pods than the nodes which admit them may have. Where
// no node admits them, the scheduler says why.
func Find(e *bundle.Expectation, nodes []corev1.Node) []problem.Problem {
	var found []problem.Problem
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if !many(*w) {
			continue
		}
		var admit []*corev1.Node
		names := observe.EligibleNodes(&w.PodSpec, nodes)
		for j := range nodes {
			if slices.Contains(names, nodes[j].Name) {
				admit = append(admit, &nodes[j])
			}
		}
		room := Of(admit)
		if len(admit) == 0 || w.Replicas <= room {
			continue
		}
		from := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
		found = append(found, problem.Problem{
			From: from, Component: w.Component, Template: w.Template, Name: fmt.Sprint(w.Replicas), Cause: "room " + from.String(), Reason: reason.SchedulingFailed,
			Text: fmt.Sprintf("wants %d pods, and there is room for %d on the %s that would admit them (allocatable pods)", w.Replicas, room, lists.Count(len(admit), "node")),
			Then: "the others stay Pending for ever: ask for fewer, or run with more nodes",
		})
	}
	return found
}
