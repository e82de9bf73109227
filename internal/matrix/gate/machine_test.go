package gate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A deadline on a machine that is far from its speed is the machine's, in lanes with a sync and
// without. What is refused stays the recipe's, and what takes a moment may take longer.
func TestGate_SlowMachine(t *testing.T) {
	one := []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)}
	pod := func(change ...func(*corev1.Pod)) []runtime.Object {
		return testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("0/3 nodes are available", "ReplicaSet", "d", "s0", change...)))
	}
	waits := gateCase{sync: time.Minute, poll: always(good("a"), is("b", lane.ItemWaiting, "is late"))}
	starts := gateCase{sync: time.Minute, timeout: reason.SchedulingFailed, poll: always(good("a")), workloads: one, live: pod(testkit.Phase(corev1.PodPending))}
	noNode := gateCase{poll: always(good("a")), workloads: one, live: pod(unschedulable)}
	tests := map[string]struct {
		gate         gateCase
		slowness     float64
		want         reason.Reason
		cause        string
		least, about time.Duration
	}{
		"a sync":                                     {waits, 10, reason.MachineTooSlow, "this machine was 10 times slower than at its best in this run, so that the time says nothing about the recipe: not ready after 1m0s: Release b: is late", time.Minute, time.Minute},
		"a sync on a machine like most":              {waits, 9.9, reason.SyncTimeout, "not ready after 1m0s", time.Minute, time.Minute},
		"pods that have not started":                 {starts, 20, reason.MachineTooSlow, "20 times slower", time.Minute, time.Minute},
		"a pod without a node":                       {noNode, 1, reason.SchedulingFailed, "0/3 nodes are available", pendingFor, pendingFor},
		"the same on a slow machine":                 {noNode, 10, reason.SchedulingFailed, "0/3 nodes are available", 10 * pendingFor, 10 * pendingFor},
		"and cells side by side":                     {noNode, 5.9, reason.SchedulingFailed, "0/3 nodes are available", pendingFor, pendingFor},
		"a pod without a node when the time is over": {gateCase{sync: time.Minute, poll: always(good("a")), workloads: one, live: pod(unschedulable)}, 20, reason.SchedulingFailed, "0/3 nodes are available", time.Minute, time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.gate.slowness = tc.slowness
			r := tc.gate.run(t)
			v := r.failed(t, tc.want, tc.cause)
			r.within(t, tc.least, tc.about+2*time.Second)
			if tc.want == reason.MachineTooSlow && v.Status != result.Infrastructure {
				t.Errorf("status: got %s, want %s", v.Status, result.Infrastructure)
			}
		})
	}
}

func unschedulable(p *corev1.Pod) {
	p.Spec.NodeName, p.Spec.SchedulerName = "", corev1.DefaultSchedulerName
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"}}}
}
