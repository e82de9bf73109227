package network

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var policyTypes = judge.Check{
	ID: "MX234", Name: "policy-rules-of-no-type", Needs: judge.Rendered, Kinds: judge.KindsOf(networkingv1.GroupName, "NetworkPolicy"),
	Title: "The rules of a NetworkPolicy are of its policyTypes",
	Why:   "policyTypes, where they are given, say which of ingress and egress a policy is for; rules of the other are ignored (https://kubernetes.io/docs/concepts/services-networking/network-policies/#networkpolicy-resource).",
	Fix:   "Add the type to policyTypes, or remove the rules.",
	Says:  "has %s rules, and its policyTypes are without %s", Then: "the rules have no effect",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "NetworkPolicy")...) {
			p := facts.As[networkingv1.NetworkPolicy](s.Index, o)
			if p == nil || len(p.Spec.PolicyTypes) == 0 {
				continue
			}
			if len(p.Spec.Ingress) > 0 && !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
				s.Report(o, "spec.policyTypes", "ingress", networkingv1.PolicyTypeIngress)
			}
			if len(p.Spec.Egress) > 0 && !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
				s.Report(o, "spec.policyTypes", "egress", networkingv1.PolicyTypeEgress)
			}
		}
	},
}
