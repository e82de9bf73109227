package workload

import "github.com/nvidia/aicr-action/internal/matrix/judge"

var autoscalerOff = judge.Check{
	ID: "MX114", Name: "autoscaler-of-no-pods", Needs: judge.Rendered, Kinds: autoscalers,
	Title: "What an autoscaler scales has a pod to begin with",
	Why: "An autoscaler leaves a workload with replicas: 0 alone: that is how one is switched off " +
		"(https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#implicit-maintenance-mode-deactivation).",
	Fix:  "Leave replicas out of the workload.",
	Says: "scales %s, which has replicas: 0", Then: "the autoscaler is off (ScalingDisabled) until somebody else gives it a pod",
	Run: func(s *judge.Scope) {
		for _, h := range scalers(s) {
			if h.replicas == 0 {
				s.Report(h.object, "spec.scaleTargetRef.name", h.target)
			}
		}
	},
}
