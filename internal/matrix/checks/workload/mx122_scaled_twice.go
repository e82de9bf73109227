package workload

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
)

var scaledTwice = judge.Check{
	ID: "MX122", Name: "two-autoscalers", Needs: judge.Rendered, Kinds: autoscalers,
	Title: "A workload has one autoscaler",
	Why: "The controller refuses to scale pods that the selectors of several autoscalers take " +
		"(https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/controller/podautoscaler/horizontal.go, AmbiguousSelector).",
	Fix:  "Put the metrics of both into one.",
	Says: "scales %s, and so does %s (%s)", Then: "neither does: both report AmbiguousSelector",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(autoscalers...) {
			h := facts.As[autoscalingv2.HorizontalPodAutoscaler](s.Index, o)
			if h == nil {
				continue
			}
			for _, other := range s.Before(o) {
				before := facts.As[autoscalingv2.HorizontalPodAutoscaler](s.Index, other)
				if t := h.Spec.ScaleTargetRef; before != nil && before.Spec.ScaleTargetRef.Kind == t.Kind && before.Spec.ScaleTargetRef.Name == t.Name {
					s.Report(o, "spec.scaleTargetRef", observe.WorkloadKey(t.Kind, h.Namespace, t.Name), other.Ref(), other.Component)
					break
				}
			}
		}
	},
}
