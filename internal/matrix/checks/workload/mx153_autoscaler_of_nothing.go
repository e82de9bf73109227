package workload

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var autoscalerOfNothing = judge.Check{
	ID: "MX153", Name: "autoscaler-of-nothing", Needs: judge.Rendered, Until: judge.Settled, Kinds: autoscalers, Gives: reason.DeployFailed,
	Title: "The workload that an autoscaler scales exists",
	Why:   "The controller asks for the scale of the target, and reports FailedGetScale without it (https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#api-object). Only its operator knows the scale of another kind.",
	Fix:   "Correct scaleTargetRef.name.",
	Says:  "scales %s, which does not exist", Then: "the autoscaler reports FailedGetScale and scales nothing",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(autoscalers...) {
			h := facts.As[autoscalingv2.HorizontalPodAutoscaler](s.Index, o)
			if h == nil {
				continue
			}
			t := h.Spec.ScaleTargetRef
			if !slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"}, t.Kind) {
				continue
			}
			key, target := observe.WorkloadKey(t.Kind, h.Namespace, t.Name), observe.WorkloadRef(t.Kind, h.Namespace, t.Name)
			if s.Lacks(target, o.Ref()) {
				s.Report(o, "spec.scaleTargetRef.name", key).OneCause(key).Missing(result.Ref{Kind: t.Kind, Namespace: h.Namespace, Name: t.Name})
			}
		}
	},
}
