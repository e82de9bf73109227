package network

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var policyShutsOut = judge.Check{
	ID: "MX222", Name: "policy-lets-only-pods-in", Needs: judge.Rendered, Kinds: judge.KindsOf(networkingv1.GroupName, "NetworkPolicy"),
	Title: "A NetworkPolicy lets in what calls a Service and is no pod",
	Why: "Selectors of pods and namespaces are for pods alone. The API server, which calls webhooks, APIs and conversions, and the clients of a load balancer are none: only a rule without from, or an ipBlock, lets them in " +
		"(https://kubernetes.io/docs/concepts/services-networking/network-policies/#behavior-of-to-and-from-selectors).",
	Fix:  "Allow the port without from, or from an ipBlock.",
	Says: "lets only pods reach those of %s, which serve %s, and %s", Then: "%[4]s: allow its port without from, or from an ipBlock",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			for _, c := range calls(s, o) {
				shutOut(s, c)
			}
		}
	},
}

// shutOut reports the policy that lets a call in to no pod that should answer.
func shutOut(s *judge.Scope, c call) {
	all := s.Services()
	i := slices.IndexFunc(all, func(s corev1.Service) bool { return s.Namespace == c.namespace && s.Name == c.service })
	if i < 0 || len(all[i].Spec.Selector) == 0 {
		return
	}
	for _, p := range s.PodsOf(c.namespace, labels.SelectorFromSet(all[i].Spec.Selector)) {
		if s.IsMade(p.Object) || p.Template.Spec.HostNetwork {
			continue
		}
		if policy := shuts(s, p, targets(&all[i], c.port, p)); policy != nil {
			s.Report(policy, "spec.podSelector", p.Object.Ref(), c.what, c.who, c.then).SetBy("podSelector")
			return
		}
	}
}

// shuts is the first policy for pods if none of those for them lets a call in that is from no pod; nil if one does, if
// there is none, or if another kind of policy may.
func shuts(s *judge.Scope, pods facts.PodTemplate, ports []corev1.ContainerPort) (first *bundle.Object) {
	for _, o := range s.Rendered() {
		if foreignPolicy(o) {
			return nil
		}
	}
	for o, p := range policiesFor(s, pods) {
		if len(p.Spec.PolicyTypes) > 0 && !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			continue
		}
		if first == nil {
			first = o
		}
		if slices.ContainsFunc(p.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
			outside := len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool { return peer.IPBlock != nil })
			return outside && (len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(port networkingv1.NetworkPolicyPort) bool { return opens(&port, ports) }))
		}) {
			return nil
		}
	}
	return first
}

// opens reports whether a port of a rule is one of these; what is not known may be.
func opens(rule *networkingv1.NetworkPolicyPort, ports []corev1.ContainerPort) bool {
	if rule.Port == nil || len(ports) == 0 {
		return true
	}
	return slices.ContainsFunc(ports, func(p corev1.ContainerPort) bool {
		switch {
		case rule.Port.Type == intstr.String:
			return rule.Port.StrVal == p.Name
		case rule.EndPort != nil:
			return rule.Port.IntVal <= p.ContainerPort && p.ContainerPort <= *rule.EndPort
		}
		return rule.Port.IntVal == p.ContainerPort
	})
}

// targets are the ports of pods to which a port of a Service leads, or any of its ports for 0.
func targets(s *corev1.Service, port int32, pods facts.PodTemplate) (all []corev1.ContainerPort) {
	for _, p := range s.Spec.Ports {
		if port != 0 && p.Port != port {
			continue
		}
		to := corev1.ContainerPort{ContainerPort: p.TargetPort.IntVal}
		if p.TargetPort.Type == intstr.Int && to.ContainerPort == 0 {
			to.ContainerPort = p.Port
		}
		for _, c := range pods.Containers() {
			for _, have := range c.Ports {
				if p.TargetPort.Type == intstr.String && have.Name == p.TargetPort.StrVal || p.TargetPort.Type == intstr.Int && have.ContainerPort == to.ContainerPort {
					to = have
				}
			}
		}
		if to.ContainerPort != 0 {
			all = append(all, to)
		}
	}
	return all
}
