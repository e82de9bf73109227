package network

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var policyCloses = judge.Check{
	ID: "MX213", Name: "policy-closes-all", Needs: judge.Rendered, Kinds: judge.KindsOf(networkingv1.GroupName, "NetworkPolicy"),
	Title: "Some NetworkPolicy opens pods that another one closes",
	Why: "Pods that a NetworkPolicy is for send and accept only what some policy allows (https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation). " +
		"One without a rule allows nothing: no request reaches the pods of a Service, or pods with a role reach neither DNS nor the API server. Nothing in a simulated cluster filters packets.",
	Fix:  "Add an ingress or egress rule, or another policy for the pods.",
	Says: "lets nothing reach the pods of %s, to which Service %s leads, and no other NetworkPolicy does", Then: "where the cluster's network enforces policies, the Service answers nobody",
	Others: map[string]judge.Message{"exit": {
		Says: "lets the pods of %s reach nothing, and no other NetworkPolicy does; their ServiceAccount has %s", Then: "where the cluster's network enforces policies, they reach neither DNS nor the API server"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "NetworkPolicy")...) {
			if p := facts.As[networkingv1.NetworkPolicy](s.Index, o); p != nil {
				closed(s, o, p)
			}
		}
	},
}

// closed reports a policy for the first pods that it closes and no other one opens.
func closed(s *judge.Scope, o *bundle.Object, p *networkingv1.NetworkPolicy) {
	closesIn, closesOut := closes(p)
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil || !closesIn && !closesOut {
		return
	}
	for _, pods := range s.PodsOf(p.Namespace, selector) {
		if s.IsMade(pods.Object) {
			continue
		}
		in, out := opened(s, pods)
		if service := serviceFor(s.Services(), pods); closesIn && !in && service != "" && !calledFromOutside(s, pods) { // that is MX222
			s.Report(o, "spec.podSelector", pods.Object.Ref(), service).SetBy("podSelector")
			return
		}
		if role := s.RoleOf(pods); closesOut && !out && role != "" {
			s.ReportAs("exit", o, "spec.podSelector", pods.Object.Ref(), role).SetBy("podSelector")
			return
		}
	}
}

// closes reports in which directions a policy allows nothing. Without policyTypes one is for what comes in, and for
// what goes out if it has rules for that.
func closes(p *networkingv1.NetworkPolicy) (in, out bool) {
	has := func(t networkingv1.PolicyType) bool { return slices.Contains(p.Spec.PolicyTypes, t) }
	in = len(p.Spec.Ingress) == 0 && (len(p.Spec.PolicyTypes) == 0 || has(networkingv1.PolicyTypeIngress))
	return in, len(p.Spec.Egress) == 0 && has(networkingv1.PolicyTypeEgress)
}

// opened reports in which directions some policy of the bundle allows something to pods. What another kind of policy
// allows, e.g. one of Cilium's, is not known: then both are taken for open.
func opened(s *judge.Scope, pods facts.PodTemplate) (in, out bool) {
	if slices.ContainsFunc(s.Rendered(), foreignPolicy) {
		return true, true
	}
	for _, p := range policiesFor(s, pods) {
		in, out = in || len(p.Spec.Ingress) > 0, out || len(p.Spec.Egress) > 0
	}
	return in, out
}

// policiesFor are the NetworkPolicies that select pods, with their objects.
func policiesFor(s *judge.Scope, pods facts.PodTemplate) iter.Seq2[*bundle.Object, *networkingv1.NetworkPolicy] {
	return func(yield func(*bundle.Object, *networkingv1.NetworkPolicy) bool) {
		for _, o := range s.Rendered(judge.KindsOf(networkingv1.GroupName, "NetworkPolicy")...) {
			p := facts.As[networkingv1.NetworkPolicy](s.Index, o)
			if p == nil || p.Namespace != pods.Object.Object.GetNamespace() {
				continue
			}
			selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
			if err == nil && selector.Matches(labels.Set(pods.Template.Labels)) && !yield(o, p) {
				return
			}
		}
	}
}

// foreignPolicy reports whether an object is a policy of a network's own kind, of which it is not known what it allows.
func foreignPolicy(o *bundle.Object) bool {
	gvk := o.Object.GroupVersionKind()
	return gvk.Group != networkingv1.GroupName && slices.Contains([]string{"NetworkPolicy", "CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy", "GlobalNetworkPolicy"}, gvk.Kind)
}

// serviceFor is a Service that leads to pods; empty without one.
func serviceFor(services []corev1.Service, pods facts.PodTemplate) string {
	for i := range services {
		if s := &services[i]; s.Namespace == pods.Object.Object.GetNamespace() && len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pods.Template.Labels)) {
			return infra.NamespacedName(s.Namespace, s.Name)
		}
	}
	return ""
}
