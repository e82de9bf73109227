package upgrade

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// farewell gives an item that waits for the removal of a release the hook that is in its way: a Job of Helm's
// pre-delete or post-delete whose pod no node takes. helm-controller waits for it until its timeout, and
// then tries again.
func (b Bundles) farewell(ctx context.Context, env *lane.Env, it *lane.Item) {
	if b.Before == nil || b.Now == nil || env.Clients == nil || env.Clients.Kube == nil {
		return
	}
	for _, r := range b.Before.Expectation.Releases {
		if namespaceOf(b.Now, r.Name) != "" {
			continue
		}
		jobs, err := env.Clients.Kube.BatchV1().Jobs(r.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for _, job := range jobs.Items {
			event := deletes(job.Annotations)
			if event == "" {
				continue
			}
			pods, err := env.Clients.Kube.CoreV1().Pods(job.Namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name})
			if err != nil {
				continue
			}
			for _, p := range pods.Items {
				if why := unplaced(&p); why != "" {
					it.State, it.Reason, it.Patience = lane.ItemSuspect, reason.DeployFailed, stuckFor
					it.Text = fmt.Sprintf("Job %s/%s, a hook (%s) of release %s, which the recipe has no more, cannot run: %s; so that component %s is not removed", job.Namespace, job.Name, event, r.Name, why, r.Component)
					return
				}
			}
		}
	}
}

// deletes is the event of a removal at which a hook runs; empty if it runs at none.
func deletes(annotations map[string]string) string {
	for _, event := range []string{"pre-delete", "post-delete"} {
		if slices.Contains(rendering.HelmHooks(annotations), event) {
			return event
		}
	}
	return ""
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
