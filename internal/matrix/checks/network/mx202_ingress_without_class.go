package network

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var ingressWithoutClass = judge.Check{
	ID: "MX202", Name: "ingress-without-class", Needs: judge.Rendered, Kinds: judge.KindsOf(networkingv1.GroupName, "Ingress"),
	Title: "An Ingress names its class, or the recipe installs a default one",
	Why: "A controller serves the Ingresses of its own class. One without a class gets the cluster's default IngressClass, and none if there is none " +
		"(https://kubernetes.io/docs/concepts/services-networking/ingress/#default-ingress-class).",
	Fix:  "Set spec.ingressClassName.",
	Says: "names no IngressClass (spec.ingressClassName), and the recipe installs no default one", Then: "unless the cluster has a default, no controller serves it",
	Run: func(s *judge.Scope) {
		if slices.ContainsFunc(s.OfKind(judge.KindsOf(networkingv1.GroupName, "IngressClass")...), func(c *bundle.Object) bool {
			return c.Object.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] == "true"
		}) {
			return
		}
		for _, o := range s.OfKind(judge.KindsOf(networkingv1.GroupName, "Ingress")...) {
			if in := facts.As[networkingv1.Ingress](s.Index, o); in != nil && in.Spec.IngressClassName == nil && in.Annotations["kubernetes.io/ingress.class"] == "" {
				s.Report(o, "spec")
			}
		}
	},
}
