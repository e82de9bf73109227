package facts

// room.go compares how many pods workloads want with how many the nodes of a cluster may have
// (allocatable pods). It must not know what the pods request, which is for the scheduler to say.

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// AtOnce reports whether a workload wants all its pods at the same time. Those of a Job may come one
// after the other.
func AtOnce(w *bundle.Workload) bool { return w.Kind != "Job" && w.Kind != "CronJob" }

// RoomOf is how many pods the nodes may have together.
func RoomOf(nodes []*corev1.Node) int {
	room := 0
	for _, n := range nodes {
		room += int(n.Status.Allocatable.Pods().Value())
	}
	return room
}

// RoomPods is the number of pods that a cell may come to have: of a workload that wants more than there
// is room for, only as many as fit. Otherwise the time that it is given would grow with a number that
// no cluster here can reach.
func RoomPods(e *bundle.Expectation, nodes []*corev1.Node) int {
	pods, room := 0, RoomOf(nodes)
	for i := range e.Workloads {
		switch w := &e.Workloads[i]; {
		case w.Replicas < 0: // a DaemonSet
			pods += len(nodes)
		case AtOnce(w):
			pods += min(w.Replicas, room)
		default:
			pods += w.Replicas
		}
	}
	return pods
}
