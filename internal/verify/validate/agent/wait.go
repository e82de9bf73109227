package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Failure is how a Job ended without a result, or with one that says no.
type Failure string

// The failures of Jobs.
const (
	// NeverStarted: its container was not started in time, or never can be.
	NeverStarted Failure = "never started"
	// Evicted: its node ended it, e.g. because it was out of memory or disk.
	Evicted Failure = "evicted"
	// podDeleted: its pod, or the Job itself, was deleted while it ran.
	podDeleted Failure = "deleted"
	// TimedOut: it ran, and was not done in time.
	TimedOut Failure = "timed out"
	// Exited: its container ended with an exit code that is not 0. After a failed check that is 1,
	// and GetResult says which one it was.
	Exited Failure = "exited"
	// noResult: its log has no result between the markers.
	noResult Failure = "no result"
)

// JobError is a Job that did not complete successfully.
type JobError struct {
	Failure Failure
	// ExitCode is the container's, for Exited.
	ExitCode int
	Text     string
}

func (e *JobError) Error() string { return e.Text }

func (j job) fail(f Failure, format string, args ...any) error {
	return reason.Wrap(reason.ClusterAccess, &JobError{Failure: f, Text: j.String() + " " + fmt.Sprintf(format, args...)})
}

// pod is the Job's newest pod, or nil.
func (j job) pod(ctx context.Context) (*corev1.Pod, error) {
	list, err := j.clientset.CoreV1().Pods(j.namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + j.name})
	if err != nil {
		return nil, err
	}
	var newest *corev1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; newest == nil || newest.CreationTimestamp.Before(&p.CreationTimestamp) {
			newest = p
		}
	}
	return newest, nil
}

// fatalWaits are reasons of a waiting container that no time changes: the image or the
// configuration must be another one.
var fatalWaits = []string{"InvalidImageName", "ErrImageNeverPull", "ImagePullBackOff", "CreateContainerConfigError", "CreateContainerError", "ImageInspectError"}

// notStarted says why the container of a pod has not started. Fatal: it never will.
func notStarted(p *corev1.Pod) (why string, fatal bool) {
	if p == nil {
		return "it has no pod yet", false
	}
	for _, s := range p.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil {
			why = "its container waits: " + w.Reason
			if w.Message != "" {
				why += ": " + w.Message
			}
			return why, contains(fatalWaits, w.Reason)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "its pod cannot be scheduled: " + c.Message, false
		}
	}
	return "its pod is " + string(p.Status.Phase) + " on node " + p.Spec.NodeName, false
}

func started(p *corev1.Pod) bool {
	return p != nil && p.Status.Phase != corev1.PodPending && p.Status.Phase != ""
}

// WaitForPodReady waits for the Job's pod to appear and reach the Running phase, or to have ended,
// so that there is a log to follow. The caller must provide a timeout-bounded context. The error is
// a *JobError (NeverStarted, podDeleted).
func (d *Deployer) WaitForPodReady(ctx context.Context) error {
	return d.job().waitStarted(ctx)
}

// longest bounds waits whose end is the context's.
const longest = 24 * time.Hour

func (j job) waitStarted(ctx context.Context) error {
	last := "it has no pod yet"
	err := wait.For(ctx, "the pod of "+j.String()+" to start", wait.Options{Budget: longest}, func(ctx context.Context) wait.Result {
		if err := j.gone(ctx); err != nil {
			return wait.Never(err)
		}
		p, err := j.pod(ctx)
		switch {
		case err != nil:
			return wait.NotYet("list its pods: %v", err)
		case started(p):
			return wait.Done()
		}
		why, fatal := notStarted(p)
		last = why
		if fatal {
			return wait.Never(j.fail(NeverStarted, "never started: %s", why))
		}
		return wait.NotYet("%s", why)
	})
	if err != nil && (ctx.Err() != nil || wait.IsTimeout(err)) {
		return j.fail(NeverStarted, "did not start in time: %s", last)
	}
	return err
}

// gone returns an error if the Job does not exist.
func (j job) gone(ctx context.Context) error {
	_, err := j.clientset.BatchV1().Jobs(j.namespace).Get(ctx, j.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return j.fail(podDeleted, "does not exist: it was deleted before it finished; run the validation again")
	}
	return nil
}

// WaitForCompletion waits for the validation Job to complete successfully. The error is a
// *JobError, which says whether it never started, was evicted, was deleted, took too long or ended
// with a code that is not 0.
func (d *Deployer) WaitForCompletion(ctx context.Context, timeout time.Duration) error {
	return d.job().waitDone(ctx, timeout)
}

func (j job) waitDone(ctx context.Context, timeout time.Duration) error {
	var last *corev1.Pod // the Job controller deletes the pod of a Job that is over its deadline
	err := wait.For(ctx, j.String()+" to complete", wait.Options{Budget: timeout}, func(ctx context.Context) wait.Result {
		object, err := j.clientset.BatchV1().Jobs(j.namespace).Get(ctx, j.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return wait.Never(j.fail(podDeleted, "was deleted before it finished; run the validation again"))
		}
		if err != nil {
			return wait.NotYet("%v", err)
		}
		p, err := j.pod(ctx)
		if err != nil {
			return wait.NotYet("list its pods: %v", err)
		}
		if p != nil {
			last = p
		}
		for _, c := range object.Status.Conditions {
			switch {
			case c.Status != corev1.ConditionTrue:
			case c.Type == batchv1.JobComplete:
				return wait.Done()
			case c.Type == batchv1.JobFailed:
				return wait.Never(j.why(c, p, last, timeout))
			}
		}
		if !started(p) {
			why, fatal := notStarted(p)
			if fatal {
				return wait.Never(j.fail(NeverStarted, "never started: %s", why))
			}
			return wait.NotYet("%s", why)
		}
		return wait.NotYet("its pod is %s", p.Status.Phase)
	})
	if wait.IsTimeout(err) {
		return j.late(last, timeout)
	}
	return err
}

func (j job) late(last *corev1.Pod, timeout time.Duration) error {
	if started(last) {
		return j.fail(TimedOut, "was not done within %s; its pod is %s", timeout, last.Status.Phase)
	}
	why, _ := notStarted(last)
	return j.fail(NeverStarted, "did not start within %s: %s", timeout, why)
}

// why returns the error of a failed Job. The pod is nil if it was deleted; last is its last known
// state.
func (j job) why(c batchv1.JobCondition, pod, last *corev1.Pod, timeout time.Duration) error {
	if c.Reason == batchv1.JobReasonDeadlineExceeded {
		return j.late(last, timeout)
	}
	if pod == nil {
		return j.fail(podDeleted, "failed: its pod was deleted before it finished, e.g. because its node was drained; run the validation again")
	}
	if pod.Status.Reason == "Evicted" {
		return j.fail(Evicted, "failed: its pod was evicted from node %s: %s", pod.Spec.NodeName, pod.Status.Message)
	}
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue {
			return j.fail(Evicted, "failed: its pod was evicted from node %s: %s: %s", pod.Spec.NodeName, cond.Reason, cond.Message)
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil {
			text := fmt.Sprintf("%s failed: its container ended with exit code %d", j, t.ExitCode)
			if t.Reason != "" && t.Reason != "Error" {
				text += " (" + strings.TrimSpace(t.Reason+" "+t.Message) + ")"
			}
			return reason.Wrap(reason.ClusterAccess, &JobError{Failure: Exited, ExitCode: int(t.ExitCode), Text: text})
		}
	}
	return j.fail(podDeleted, "failed: %s: %s", c.Reason, c.Message)
}

// WaitForJobPodTermination waits for the Job's pod to reach a terminal state or be deleted, so that
// RBAC resources are not removed under a pod that still uses them. The caller must provide a
// timeout-bounded context.
func (d *Deployer) WaitForJobPodTermination(ctx context.Context) {
	j := d.job()
	_ = wait.For(ctx, "the pod of "+j.String()+" to end", wait.Options{Budget: longest}, func(ctx context.Context) wait.Result {
		p, err := j.pod(ctx)
		switch {
		case err != nil:
			return wait.NotYet("%v", err)
		case p == nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
			return wait.Done()
		}
		return wait.NotYet("it is %s", p.Status.Phase)
	}) // the end of ctx is what the caller asked for
}
