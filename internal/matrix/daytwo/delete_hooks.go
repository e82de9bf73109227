package daytwo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// deleteHook is a Job that runs when a release is removed, and whose pod no node takes or the API server rejects. Helm and
// helm-controller wait for it until their timeout; so does Argo CD, without one, if it sees the Job in time.
type deleteHook struct {
	Namespace, Name string
	Event           string // pre-delete, post-delete, PreDelete or PostDelete
	Why             string // in the scheduler's words, or the API server's
	Release         bundle.Release
}

// deleteHooks lists those of these releases that are there. What cannot be read is not there yet.
func deleteHooks(ctx context.Context, kube kubernetes.Interface, releases []bundle.Release) (all []deleteHook) {
	for i, r := range releases {
		if slices.ContainsFunc(releases[:i], func(other bundle.Release) bool { return other.Namespace == r.Namespace }) {
			continue // the Jobs of a namespace are looked at once
		}
		jobs, err := kube.BatchV1().Jobs(r.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for _, job := range jobs.Items {
			event := deletes(job.Annotations)
			if event == "" {
				continue
			}
			pods, err := kube.CoreV1().Pods(job.Namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name})
			if err != nil {
				continue
			}
			why := ""
			for _, p := range pods.Items {
				why = cmp.Or(why, unplaced(&p))
			}
			if len(pods.Items) == 0 {
				why = rejected(ctx, kube, &job)
			}
			if why != "" {
				all = append(all, deleteHook{job.Namespace, job.Name, event, why, r})
			}
		}
	}
	return all
}

func (f deleteHook) String() string {
	return fmt.Sprintf("Job %s/%s, a hook (%s) of release %s", f.Namespace, f.Name, f.Event, f.Release.Name)
}

// deletes is the event of a removal at which a hook runs; empty if it runs at none.
func deletes(annotations map[string]string) string {
	for _, event := range strings.Split(annotations[rendering.ArgoHook], ",") {
		if event = strings.TrimSpace(event); event == "PreDelete" || event == "PostDelete" {
			return event
		}
	}
	for _, event := range []string{"pre-delete", "post-delete"} {
		if slices.Contains(rendering.HelmHooks(annotations), event) {
			return event
		}
	}
	return ""
}

// rejected is what the API server last said of the pods of a Job, e.g. that its ServiceAccount does not exist.
func rejected(ctx context.Context, kube kubernetes.Interface, job *batchv1.Job) (said string) {
	events, err := kube.CoreV1().Events(job.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
	if err != nil {
		return ""
	}
	for _, e := range events.Items {
		if e.InvolvedObject.Kind == "Job" && e.InvolvedObject.UID == job.UID && e.Reason == "FailedCreate" {
			said = "the API server rejects its pods: " + strings.TrimPrefix(e.Message, "Error creating: ")
		}
	}
	return said
}

// unplaced is what the scheduler says of a pod that it cannot place.
func unplaced(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.Message
		}
	}
	return ""
}
