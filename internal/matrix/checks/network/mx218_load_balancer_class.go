package network

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var loadBalancerClass = judge.Check{
	ID: "MX218", Name: "load-balancer-class-of-nobody", Needs: judge.Rendered, Kinds: judge.KindsOf("", "Service"),
	Title: "Something in the recipe serves the class of a load balancer",
	Why: "A Service with spec.loadBalancerClass is left alone by every controller but that of the class (https://kubernetes.io/docs/concepts/services-networking/service/#load-balancer-class). " +
		"Such a controller gets the name by its arguments or variables, and no workload of this recipe has it.",
	Fix:  "Add the controller, or remove the class for the provider's own.",
	Says: "has loadBalancerClass %s, which nothing in the recipe serves", Then: "unless the cluster provides it, the Service gets no address",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Service")...) {
			svc := facts.As[corev1.Service](s.Index, o)
			if svc == nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || svc.Spec.LoadBalancerClass == nil || *svc.Spec.LoadBalancerClass == "" {
				continue
			}
			if class := *svc.Spec.LoadBalancerClass; !slices.ContainsFunc(s.Pods(), func(p facts.PodTemplate) bool {
				return !s.IsMade(p.Object) && facts.ArgumentsName(&p.Template.Spec, class)
			}) {
				s.Report(o, "spec.loadBalancerClass", class)
			}
		}
	},
}
