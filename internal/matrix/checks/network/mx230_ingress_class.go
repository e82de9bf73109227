package network

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var ingressClass = judge.Check{
	ID: "MX230", Name: "ingress-class-missing", Needs: judge.Rendered, Kinds: judge.KindsOf(networkingv1.GroupName, "Ingress"),
	Title: "The recipe installs the class of an Ingress",
	Why:   "A controller serves the Ingresses of its classes (https://kubernetes.io/docs/concepts/services-networking/ingress/#ingress-class). The cluster may have one of its own.",
	Fix:   "Install the controller, or correct ingressClassName.",
	Says:  "names IngressClass %s, which the recipe does not install", Then: "unless the cluster provides it, no controller serves it",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "Ingress")...) {
			in := facts.As[networkingv1.Ingress](s.Index, o)
			if in == nil || in.Spec.IngressClassName == nil || *in.Spec.IngressClassName == "" {
				continue
			}
			if class := *in.Spec.IngressClassName; s.Find(judge.KindsOf(networkingv1.GroupName, "IngressClass")[0], "", class) == nil {
				s.Report(o, "spec.ingressClassName", class).Missing(result.Ref{Group: networkingv1.GroupName, Kind: "IngressClass", Name: class})
			}
		}
	},
}
