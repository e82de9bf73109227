package gate

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A pod that runs is crashing once its program has been started again crashes times, has not been
// ready for crashFor since, and has ended again. A program may end a few times while something that
// it needs is on its way.
const (
	crashes  = 2
	crashFor = 8 * time.Second
)

// failedCrashes is the failure of a program that ends again and again, once nothing is to come that
// could mend it, or of a pod that cannot run as a process at all; nil if there is none. Such a pod
// would only be late at the deadline.
func (g *Gate) failedCrashes(state lane.State, r observe.WorkloadReport) *result.Failure {
	seen := map[string]bool{}
	var f *result.Failure
	for _, late := range r.Waiting {
		if i := slices.IndexFunc(late.Late, cannotRun); i >= 0 {
			ref := observe.WorkloadRef(late.Workload.Kind, late.Workload.Namespace, late.Workload.Name)
			return result.NewFailure(result.Finding{Cause: late.String(), Object: &ref, Component: late.Workload.Component})
		}
		i := slices.IndexFunc(late.Late, func(p *corev1.Pod) bool { return restarts(p) >= crashes })
		if i < 0 {
			continue
		}
		pod := late.Late[i]
		key := "crashing " + observe.PodName(pod)
		seen[key] = true
		if f == nil && g.lasts(key, crashFor) && ended(pod) && !g.othersOpen(state) {
			ref := observe.WorkloadRef(late.Workload.Kind, late.Workload.Namespace, late.Workload.Name)
			f = result.NewFailure(result.Finding{
				Cause: "the program of pod " + observe.PodName(pod) + " ends again and again: " + late.String(), Object: &ref, Component: late.Workload.Component,
			})
		}
	}
	g.keepOnly("crashing ", seen)
	return f
}

// othersOpen reports whether the lane still delivers something that no late pod explains: it may be
// what a program lacks.
func (g *Gate) othersOpen(state lane.State) bool {
	open := slices.DeleteFunc(slices.Clone(state.Items), func(it lane.Item) bool { return it.State == lane.ItemGood || it.State == lane.ItemAccepted })
	return len(open) > 0 && !g.podsExplain(open)
}

// portFor is how long a pod may wait for a port of this machine: until the process that it replaces
// has ended.
const portFor = 20 * time.Second

// failedPorts is the failure of a pod that waits for a port which another program of this machine has;
// nil if there is none. The recipe is not at fault. Reason: PORT_TAKEN.
func (g *Gate) failedPorts(r observe.WorkloadReport) error {
	seen := map[string]bool{}
	for _, late := range r.Waiting {
		i := slices.IndexFunc(late.Late, waitsForPort)
		if i < 0 {
			continue
		}
		key := "port " + observe.PodName(late.Late[i])
		seen[key] = true
		if g.lasts(key, portFor) {
			return reason.New(reason.PortTaken, "%s: end that program, or run this pod without its program", late)
		}
	}
	g.keepOnly("port ", seen)
	return nil
}

// cannotRun reports whether a pod is to run as a process and never can.
func cannotRun(p *corev1.Pod) bool { return waits(p, infra.CannotRun) }

func waitsForPort(p *corev1.Pod) bool { return waits(p, infra.PortTaken) }

// waits reports whether the message of a waiting container begins so.
func waits(p *corev1.Pod, message string) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && strings.HasPrefix(c.State.Waiting.Message, message)
	})
}

func restarts(p *corev1.Pod) int32 {
	var most int32
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		most = max(most, c.RestartCount)
	}
	return most
}

// ended reports whether a container waits to be started again.
func ended(p *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff"
	})
}
