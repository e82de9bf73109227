package workload

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var autoscalerTarget = judge.Check{
	ID: "MX113", Name: "autoscaler-target-without-scale", Needs: judge.Rendered, Kinds: autoscalers, Gives: reason.DeployFailed,
	Title: "An autoscaler's target is of a kind that has a scale",
	Why: "The controller asks the API server for the subresource scale of the target, in the API group that scaleTargetRef names " +
		"(https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#api-object). DaemonSets and Jobs have none, and the group extensions has no workloads since Kubernetes 1.16.",
	Fix:  "Name a Deployment or a StatefulSet, with its present apiVersion.",
	Says: "scales %s (spec.scaleTargetRef), and a %s has no scale", Then: "the autoscaler reports FailedGetScale and scales nothing",
	Others: map[string]judge.Message{"version": {Says: "scales %s as apiVersion %[3]q, in which the API server has no such kind", Then: "the autoscaler reports FailedGetScale and scales nothing; use apiVersion: %[4]s"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(autoscalers...) {
			h := facts.As[autoscalingv2.HorizontalPodAutoscaler](s.Index, o)
			if h == nil {
				continue
			}
			t := h.Spec.ScaleTargetRef
			if message, want := unscalable(t); message != scalable {
				key := observe.WorkloadKey(t.Kind, h.Namespace, t.Name)
				s.ReportAs(message, o, "spec.scaleTargetRef.apiVersion", key, t.Kind, t.APIVersion, want).OneCause(key)
			}
		}
	},
}
