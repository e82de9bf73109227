package observe

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
)

// PodFacts are what a pod shows of its scheduling. They are collected once per poll: the gate
// decides by them whether the pod has failed, and package why explains it.
type PodFacts struct {
	Pod *corev1.Pod
	// Scheduler is the scheduler's message; empty if none has reported. Unschedulable means that it
	// found no node for the pod.
	Scheduler     string
	Unschedulable bool
	// Kept is why no scheduler tries to place the pod; empty if one may.
	Kept string
	// OtherScheduler is the scheduler that the pod is for if it is not Kubernetes' own; empty
	// otherwise.
	OtherScheduler string
	// OwnScheduler means that this scheduler runs, as a pod of the recipe.
	OwnScheduler bool
}

// Silent reports whether the pod waits for the first word of a scheduler that is not Kubernetes' own.
func (f *PodFacts) Silent() bool {
	return f.OtherScheduler != "" && f.Scheduler == "" && f.Kept != "" && len(f.Pod.Spec.SchedulingGates) == 0
}

// FactsOf collects the facts about a pod.
func FactsOf(p *corev1.Pod) PodFacts {
	f := PodFacts{Pod: p, OtherScheduler: OtherScheduler(&p.Spec)}
	reported := false
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled {
			continue
		}
		reported = true
		if c.Status != corev1.ConditionFalse {
			continue
		}
		f.Scheduler = c.Message
		if c.Reason == corev1.PodReasonUnschedulable {
			f.Scheduler, f.Unschedulable = withoutPreemption(c.Message), true
		}
		// A selector of a claim or of its class that fails for a device stops the whole attempt, and
		// the next one: the scheduler calls that an error of its own.
		if c.Reason == corev1.PodReasonSchedulerError && strings.Contains(c.Message, "CEL runtime error") {
			f.Unschedulable = true
		}
		break
	}
	// A scheduling gate is never removed here. A scheduler that tried and failed says so in the
	// pod's condition; without one, a pod for another scheduler waits for a program that does not
	// run.
	switch {
	case len(p.Spec.SchedulingGates) > 0:
		f.Kept = "scheduling gate " + p.Spec.SchedulingGates[0].Name + " keeps its pods from the scheduler, and nothing here removes it"
	case f.OtherScheduler != "" && !reported:
		f.Kept = fmt.Sprintf("its pods are for the scheduler %s, which does not run here", f.OtherScheduler)
	}
	return f
}

// Pending reports whether the pod gets no node without a change, and why: the scheduler found none,
// or no scheduler tries.
func (f *PodFacts) Pending() (message string, pending bool) {
	if f.Unschedulable {
		return f.Scheduler, true
	}
	return f.Kept, f.Kept != ""
}

// withoutPreemption drops the text after "preemption:", which repeats the same for a case that does
// not occur here.
func withoutPreemption(message string) string {
	message, _, _ = strings.Cut(message, " preemption:")
	message, _, _ = strings.Cut(message, " no new claims to deallocate")
	return strings.TrimRight(message, " ,")
}

// OtherScheduler returns the scheduler that pods are for if it is not Kubernetes' own; empty
// otherwise.
func OtherScheduler(spec *corev1.PodSpec) string {
	if spec.SchedulerName == corev1.DefaultSchedulerName {
		return ""
	}
	return spec.SchedulerName
}

// PodReady reports whether the pod has the condition Ready.
func PodReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// PodName returns namespace/name.
func PodName(p *corev1.Pod) string { return infra.NamespacedName(p.Namespace, p.Name) }
