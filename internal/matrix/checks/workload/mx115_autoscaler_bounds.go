package workload

import "github.com/nvidia/aicr-action/internal/matrix/judge"

var autoscalerBounds = judge.Check{
	ID: "MX115", Name: "autoscaler-against-replicas", Needs: judge.Rendered, Kinds: autoscalers,
	Title: "A workload has no number of replicas that its autoscaler changes at once",
	Why: "An autoscaler brings a workload between its bounds whatever it measures. What applies the manifest again sets the number back " +
		"(https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#migrating-deployments-and-statefulsets-to-horizontal-autoscaling).",
	Fix:  "Leave replicas out of the workload.",
	Says: "keeps %s between %d and %d pods, and it has replicas: %d", Then: "the autoscaler and an Argo CD that heals itself undo each other for ever: leave replicas out",
	Run: func(s *judge.Scope) {
		for _, h := range scalers(s) {
			least := int64(1)
			if h.Spec.MinReplicas != nil {
				least = int64(*h.Spec.MinReplicas)
			}
			if h.replicas > 0 && (h.replicas < least || h.replicas > int64(h.Spec.MaxReplicas)) {
				s.Report(h.object, "spec.scaleTargetRef.name", h.target, least, h.Spec.MaxReplicas, h.replicas)
			}
		}
	},
}
