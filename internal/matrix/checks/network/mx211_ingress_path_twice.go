package network

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var ingressPathTwice = judge.Check{
	ID: "MX211", Name: "ingress-path-twice", Needs: judge.Rendered, Kinds: judge.KindsOf(networkingv1.GroupName, "Ingress"),
	Title: "A host and path are of one Ingress of a class",
	Why: "Which of two Ingresses gets a request for the same host and path is not defined; the admission webhook of ingress-nginx refuses the later one " +
		"(https://kubernetes.github.io/ingress-nginx/how-it-works/#building-the-nginx-model).",
	Fix:  "Give one of them another host or path, or another class.",
	Says: "is for %s, and so is %s", Then: "which of the two answers depends on the controller; ingress-nginx refuses the second",
	Run: func(s *judge.Scope) {
		routes := map[string]string{} // the Ingresses so far, by class, host and path
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "Ingress")...) {
			in := facts.As[networkingv1.Ingress](s.Index, o)
			if in == nil || in.Annotations["nginx.ingress.kubernetes.io/canary"] == "true" {
				continue // a canary shares them on purpose
			}
			class := ""
			if in.Spec.IngressClassName != nil {
				class = *in.Spec.IngressClassName
			}
			for i, rule := range in.Spec.Rules {
				if rule.HTTP == nil {
					continue
				}
				for _, path := range rule.HTTP.Paths {
					key, own := class+" "+rule.Host+path.Path, o.Ref().String()
					if first := routes[key]; first == "" {
						routes[key] = own
					} else if first != own {
						s.Report(o, fmt.Sprintf("spec.rules[%d].host", i), rule.Host+path.Path, first)
					}
				}
			}
		}
	},
}
