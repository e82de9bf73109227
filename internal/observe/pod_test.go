package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// The scheduler repeats its message for preemption and resource claims; people read it once. A pod
// with a scheduling gate, or for a scheduler that has not reported, is pending too.
func TestFactsOf(t *testing.T) {
	const message = "0/4 nodes are available: 4 Insufficient cpu."
	other := func(p *corev1.Pod) { p.Spec.SchedulerName = "kai-scheduler" }
	gate := func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }
	tests := map[string]struct {
		pod           *corev1.Pod
		scheduler     string
		unschedulable bool
		pending       string
	}{
		"plain":                  {testkit.Pod("p", "", "", "", testkit.Refused(message)), message, true, message},
		"preemption":             {testkit.Pod("p", "", "", "", testkit.Refused(message+" preemption: 0/4 nodes are available: 4 none.")), message, true, message},
		"claims":                 {testkit.Pod("p", "", "", "", testkit.Refused("0/4 nodes are available: 4 Insufficient cpu, no new claims to deallocate, preemption: x")), "0/4 nodes are available: 4 Insufficient cpu", true, "0/4 nodes are available: 4 Insufficient cpu"},
		"not yet":                {testkit.Pod("p", "", "", "", testkit.Phase(corev1.PodPending)), "", false, ""},
		"gated":                  {testkit.Pod("p", "", "", "", testkit.Refused("gated"), gate, func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }), "gated", false, "scheduling gate g keeps its pods from the scheduler, and nothing here removes it"},
		"not any more":           {testkit.Pod("p", "", "", "", testkit.Refused("x"), func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue }), "", false, ""},
		"another scheduler":      {testkit.Pod("p", "", "", "", testkit.Phase(corev1.PodPending), other), "", false, "its pods are for the scheduler kai-scheduler, which does not run here"},
		"another one that tried": {testkit.Pod("p", "", "", "", testkit.Refused(message), other), message, true, message},
		"a selector that fails":  {testkit.Pod("p", "", "", "", testkit.Refused("claim x: selector #0: CEL runtime error: no such key: a"), func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulerError }), "claim x: selector #0: CEL runtime error: no such key: a", true, "claim x: selector #0: CEL runtime error: no such key: a"},
		"another one's error":    {testkit.Pod("p", "", "", "", testkit.Refused(message), other, func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulerError }), message, false, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := FactsOf(tc.pod)
			pending, is := f.Pending()
			if f.Scheduler != tc.scheduler || f.Unschedulable != tc.unschedulable || pending != tc.pending || is != (tc.pending != "") {
				t.Errorf("got %q, %t, pending %t: %q; want %q, %t, %q", f.Scheduler, f.Unschedulable, is, pending, tc.scheduler, tc.unschedulable, tc.pending)
			}
		})
	}
}

// A pod of its own that is not started again may have ended; a Job's has to, and a Deployment's may not.
func TestPodState_Once(t *testing.T) {
	for name, c := range map[string]struct {
		w      bundle.Workload
		policy corev1.RestartPolicy
		want   bool
	}{
		"once":         {bundle.Workload{Kind: "Pod"}, corev1.RestartPolicyNever, true},
		"on failure":   {bundle.Workload{Kind: "Pod"}, corev1.RestartPolicyOnFailure, true},
		"always":       {bundle.Workload{Kind: "Pod"}, corev1.RestartPolicyAlways, false},
		"a hook":       {bundle.Workload{Kind: "Pod", Hook: true}, corev1.RestartPolicyAlways, true},
		"a Job's":      {bundle.Workload{Kind: "Job"}, corev1.RestartPolicyNever, true},
		"a Deployment": {bundle.Workload{Kind: "Deployment"}, corev1.RestartPolicyNever, false},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: c.policy}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
		if got, state := podState(p, &c.w); got != c.want {
			t.Errorf("%s: got %v, %s", name, got, state)
		}
	}
}
