package network

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var noGoverningService = judge.Check{
	ID: "MX216", Name: "governing-service-missing", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf(appsv1.GroupName, "StatefulSet"),
	Title: "The Service of a StatefulSet exists",
	Why:   "A StatefulSet's pods have names in DNS below the Service that spec.serviceName names; the recipe has to bring it (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#limitations).",
	Fix:   "Add the Service, with clusterIP: None and the labels of the pods.",
	Says:  "names Service %s (spec.serviceName), which does not exist", Then: "its pods have no names in DNS",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(appsv1.GroupName, "StatefulSet")...) {
			set := facts.As[appsv1.StatefulSet](s.Index, o)
			if set != nil && set.Spec.ServiceName != "" && lacksService(s, set.Namespace, set.Spec.ServiceName, o.Ref()) {
				s.Report(o, "spec.serviceName", infra.NamespacedName(set.Namespace, set.Spec.ServiceName))
			}
		}
	},
}

// lacksService reports whether a Service does not exist, and nothing seems to make it at run time.
func lacksService(s *judge.Scope, namespace, name string, from result.Ref) bool {
	return s.Lacks(result.Ref{Kind: "Service", Namespace: namespace, Name: name}, from) && s.MadeAtRunTime("Service", namespace, name, from) == nil
}
