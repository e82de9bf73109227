package network

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var egressWithoutDNS = judge.Check{
	ID: "MX241", Name: "egress-without-dns", Needs: judge.Rendered, Kinds: judge.KindsOf(networkingv1.GroupName, "NetworkPolicy"),
	Title: "Pods that may call others may ask for their names",
	Why: "A pod that any policy selects for egress reaches only what a rule of one allows, and a name is asked for at port 53 of the cluster's DNS " +
		"(https://kubernetes.io/docs/concepts/services-networking/network-policies/#default-deny-all-egress-traffic). Simulated pods have no network. A policy without any egress rule means that.",
	Fix:  "Allow port 53, of UDP and TCP, to the pods of the cluster's DNS.",
	Says: "lets pods of %s call others, and not the cluster's DNS: no rule for egress of theirs has port 53", Then: "no program in them finds an address by its name",
	Run: func(s *judge.Scope) {
		if slices.ContainsFunc(s.Rendered(), foreignPolicy) {
			return
		}
		reported := map[*bundle.Object]bool{}
		for _, p := range s.Pods() {
			if p.Template.Spec.HostNetwork || p.Template.Spec.DNSPolicy == corev1.DNSNone {
				continue
			}
			if o := asksNobody(s, p); o != nil && !reported[o] {
				reported[o] = true
				s.Report(o, "spec.egress", p.Object.Ref()).SetBy("egress")
			}
		}
	},
}

// asksNobody is the first policy with rules for egress of a pod's, of which none allows port 53; nil if one does, or if there is none.
func asksNobody(s *judge.Scope, p facts.PodTemplate) (first *bundle.Object) {
	for o, policy := range policiesFor(s, p) {
		if len(policy.Spec.Egress) == 0 || len(policy.Spec.PolicyTypes) > 0 && !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			continue
		}
		if slices.ContainsFunc(policy.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
			return len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(port networkingv1.NetworkPolicyPort) bool {
				return opens(&port, []corev1.ContainerPort{{Name: "dns", ContainerPort: 53}, {Name: "dns-tcp", ContainerPort: 53}})
			})
		}) {
			return nil
		}
		if first == nil {
			first = o
		}
	}
	return first
}
