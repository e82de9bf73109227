package delivery

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var podIsTask = judge.Check{
	ID: "MX528", Name: "pod-is-a-task", Needs: judge.Rendered, Kinds: judge.KindsOf("", "Pod"), Lanes: func(o judge.Order) bool { return o.ArgoCD },
	Title: "A pod that Argo CD delivers comes to an end, or is started again",
	Why: "Argo CD takes a pod with restartPolicy Never or OnFailure for a task, and its Application is Progressing until the pod has ended " +
		"(https://github.com/argoproj/argo-cd/issues/15317). Here every such pod ends at once, so that a cell does not show one that runs on.",
	Fix:  "Give a pod that runs on restartPolicy: Always, or deliver it with a Deployment; a task is better a Job.",
	Says: "has restartPolicy: %s, and a simulated pod ends at once", Then: "if this one runs on, Argo CD shows its Application as Progressing for as long",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Pod")...) {
			own, _ := rendering.ArgoHooks(o.Object.GetAnnotations())
			pod := facts.As[corev1.Pod](s.Index, o)
			if pod == nil || o.Hook || own || pod.Spec.RestartPolicy != corev1.RestartPolicyNever && pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
				continue
			}
			s.Report(o, "spec.restartPolicy", string(pod.Spec.RestartPolicy))
		}
	},
}
