package podrun

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// state is a container's at one time: it waits, runs or has exited.
type state struct {
	waiting, message  string // the reason of a container that waits
	running, exited   bool
	ready             bool
	unready           string // why the readiness probe fails
	final             bool   // it has exited for good
	exitCode, left    int    // left behind: processes
	said              string // by a process that failed: the end of its log
	started, finished time.Time
	restarts          int
	init              int // of which init container it is, from 1; 0 for the main container
}

// phase follows the pod life cycle of Kubernetes: a container that will be started again leaves its
// pod Running.
func (s *state) phase() corev1.PodPhase {
	switch {
	case s.final && s.exitCode == 0 && s.init == 0:
		return corev1.PodSucceeded
	case s.final:
		return corev1.PodFailed
	case s.init > 0:
		return corev1.PodPending
	case s.running, s.exited, s.restarts > 0:
		return corev1.PodRunning
	}
	return corev1.PodPending
}

func (s *state) terminated() *corev1.ContainerStateTerminated {
	reason := "Completed"
	if s.exitCode != 0 {
		reason = "Error"
	}
	t := &corev1.ContainerStateTerminated{ExitCode: int32(s.exitCode), Reason: reason, Message: s.said, StartedAt: metav1.NewTime(s.started), FinishedAt: metav1.NewTime(s.finished)}
	if s.exitCode > 128 {
		t.Signal = int32(s.exitCode - 128)
	}
	return t
}

// container is the status of one container in this state.
func (s *state) container(c *corev1.Container) corev1.ContainerStatus {
	status := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image, RestartCount: int32(s.restarts), Ready: s.ready, Started: &s.running}
	switch {
	case s.waiting != "":
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: s.waiting, Message: s.message}
		if s.exited {
			status.LastTerminationState.Terminated = s.terminated()
		}
	case s.running:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.started)}
	default:
		status.State.Terminated = s.terminated()
	}
	return status
}

// status is the pod's, for a container in this state. There is no address: a process has its
// machine's, and no Service leads to it.
func (w *worker) status(s state) corev1.PodStatus {
	main := s
	var inits []corev1.ContainerStatus
	waits := state{waiting: "PodInitializing"}
	for i := range w.pod.Spec.InitContainers {
		c, of := &w.pod.Spec.InitContainers[i], waits
		switch {
		case i < len(w.initialized):
			of = w.initialized[i]
			of.ready = true // as a kubelet has it
		case i+1 == s.init:
			of = s
		}
		inits = append(inits, of.container(c))
	}
	if s.init > 0 {
		main = waits
	}
	status := main.container(&w.pod.Spec.Containers[0])
	now := metav1.Now()
	condition := func(kind corev1.PodConditionType, is bool, reason string) corev1.PodCondition {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now}
		if !is {
			c.Status, c.Reason = corev1.ConditionFalse, reason
			if kind == corev1.ContainersReady && s.unready != "" && s.running {
				c.Message = infra.ProbeFails + s.unready
			}
		}
		return c
	}
	why := "ContainersNotReady"
	if s.final && s.exitCode == 0 && s.init == 0 {
		why = "PodCompleted"
	}
	ready := main.ready && len(w.pod.Spec.ReadinessGates) == 0
	return corev1.PodStatus{
		Phase: s.phase(), StartTime: &metav1.Time{Time: w.began()}, ContainerStatuses: []corev1.ContainerStatus{status}, InitContainerStatuses: inits,
		Conditions: []corev1.PodCondition{
			condition(corev1.PodInitialized, len(w.initialized) == len(w.pod.Spec.InitContainers), "ContainersNotInitialized"), condition(corev1.ContainersReady, main.ready, why), condition(corev1.PodReady, ready, why),
		},
	}
}

func (w *worker) began() time.Time { return w.pod.CreationTimestamp.Time }

// writeBudget is how long a status is tried to be written.
const writeBudget = 30 * time.Second

// write writes the pod's status. It does nothing if the pod was deleted, or another pod has its
// name.
func (w *worker) write(ctx context.Context, s state) {
	w.ready.Store(s.ready && s.running)
	w.runs.Store(s.running && s.init == 0)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.pod.UID}, "status": w.status(s)})
	if err == nil {
		err = wait.For(ctx, "the status of pod "+w.name(), wait.Options{Budget: writeBudget, Interval: 500 * time.Millisecond}, func(ctx context.Context) wait.Result {
			_, err := w.r.Clients.Kube.CoreV1().Pods(w.pod.Namespace).Patch(ctx, w.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			switch {
			case err == nil:
				return wait.Done()
			case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err), apierrors.IsForbidden(err):
				return wait.Never(err)
			}
			return wait.NotYet("%v", err)
		})
	}
	if ctx.Err() == nil {
		w.unlessGone("write the status of a pod that runs", err)
	}
}

// unlessGone logs an error, unless it says that the pod does not exist any more.
func (w *worker) unlessGone(doing string, err error) {
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		w.r.Log.Warn(doing, "pod", w.name(), "err", err)
	}
}
