package network

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var governingService = judge.Check{
	ID: "MX214", Name: "governing-service-gives-no-names", Needs: judge.Rendered, Kinds: judge.KindsOf(appsv1.GroupName, "StatefulSet"),
	Title: "The Service of a StatefulSet gives its pods names",
	Why: "Pods of a StatefulSet have names in DNS by a headless Service that is for them (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#stable-network-id). " +
		"One with an address of its own, or for other pods, gives none. A StatefulSet of one pod often needs none.",
	Fix:  "Set clusterIP: None in the Service, and give it the labels of the pods as its selector.",
	Says: "names Service %s (spec.serviceName), which is not headless (clusterIP: None)", Then: "its pods have no names in DNS: %[2]s-0.%[3]s is that of none",
	Others: map[string]judge.Message{"others": {
		Says: "names Service %s (spec.serviceName), which selects pods with %[4]s, and its own are none of them", Then: "its pods have no names in DNS: %[2]s-0.%[3]s is that of none"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(appsv1.GroupName, "StatefulSet")...) {
			set := facts.As[appsv1.StatefulSet](s.Index, o)
			if set == nil || set.Spec.ServiceName == "" || set.Spec.Replicas == nil || *set.Spec.Replicas < 2 {
				continue
			}
			all, name := s.Services(), set.Spec.ServiceName
			i := slices.IndexFunc(all, func(s corev1.Service) bool { return s.Namespace == set.Namespace && s.Name == name })
			if i < 0 {
				continue // another check's
			}
			const path = "spec.serviceName"
			full, selector := infra.NamespacedName(set.Namespace, name), all[i].Spec.Selector
			switch {
			case len(selector) > 0 && !labels.SelectorFromSet(selector).Matches(labels.Set(set.Spec.Template.Labels)):
				s.ReportAs("others", o, path, full, set.Name, name, labels.Set(selector))
			case all[i].Spec.ClusterIP != corev1.ClusterIPNone:
				s.Report(o, path, full, set.Name, name)
			}
		}
	},
}
