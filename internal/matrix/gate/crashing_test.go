package gate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A program that ends again and again is red in seconds, with the last words of its log, unless
// something that it may lack is still to come; one that has ended once or runs now has its time.
func TestCrashing(t *testing.T) {
	status := func(restarts int32, waits string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: restarts}}}
			if waits != "" {
				p.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: waits, Message: "ended with exit code 1; its log says: fatal: burst"}
			}
		}
	}
	const soon, deadline = crashFor + 3*time.Second, 299 * time.Second
	other := lane.Item{ID: "Release b", Ref: result.Ref{Kind: "Release", Name: "b"}, State: lane.ItemWaiting, Text: "is being installed"}
	behind := other
	behind.Behind = "comp" // tries again while the webhook of comp does not answer
	own := lane.Item{ID: "Release comp", Ref: result.Ref{Kind: "Release", Name: "comp"}, State: lane.ItemWaiting, Text: "waits for its hook"}
	for name, c := range map[string]struct {
		change      func(*corev1.Pod)
		open        []lane.Item
		least, most time.Duration
	}{
		"again and again":              {status(2, "CrashLoopBackOff"), nil, crashFor, soon},
		"its own release waits for it": {status(2, "CrashLoopBackOff"), []lane.Item{own}, crashFor, soon},
		"another release is behind it": {status(2, "CrashLoopBackOff"), []lane.Item{behind}, crashFor, soon},
		"another release is to come":   {status(2, "CrashLoopBackOff"), []lane.Item{other}, deadline, deadline + 4*time.Second},
		"once":                         {status(1, "CrashLoopBackOff"), nil, deadline, deadline + 4*time.Second},
		"it runs now":                  {status(5, ""), nil, deadline, deadline + 4*time.Second},
		"it waits for something else":  {status(5, "ContainerCreating"), nil, deadline, deadline + 4*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := gateCase{poll: always(c.open...), workloads: []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)}, releases: []bundle.Release{{Name: "comp", Component: "comp"}}}
			g.live = testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0", c.change)))
			r := g.run(t)
			if r.within(t, c.least, c.most); c.least == crashFor {
				r.failed(t, reason.WorkloadFailed, "the program of pod ns/d-1 ends again and again: Deployment ns/d")
				r.failed(t, reason.WorkloadFailed, "its log says: fatal: burst")
			}
		})
	}
}

// A pod that cannot run as a process, e.g. since one of its two containers has no program, is red at
// once, and one whose port another program of this machine has is not the recipe's fault. What a
// kubelet would wait for is not meant.
func TestCannotRun(t *testing.T) {
	for message, c := range map[string]struct {
		within time.Duration
		reason reason.Reason
	}{
		infra.CannotRun + "it has 2 containers": {5 * time.Second, reason.WorkloadFailed},
		"couldn't find key a in ConfigMap ns/c": {304 * time.Second, reason.WorkloadFailed},
		infra.PortTaken + "18999":               {portFor + 5*time.Second, reason.PortTaken},
	} {
		g := gateCase{poll: always(), workloads: []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)}, releases: []bundle.Release{{Name: "comp", Component: "comp"}}}
		g.live = testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0", func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}}}
			p.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: message}
		})))
		r := g.run(t)
		r.within(t, 0, c.within)
		r.failed(t, c.reason, message)
	}
}
