package network

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var selecting = []schema.GroupKind{{Group: policyv1.GroupName, Kind: "PodDisruptionBudget"}, {Group: networkingv1.GroupName, Kind: "NetworkPolicy"}, {Kind: "Service"}}

var selectsNoPod = judge.Check{
	ID: "MX223", Name: "selects-no-pod", Needs: judge.Rendered, Until: judge.Settled, Kinds: selecting,
	Title: "A Service, a NetworkPolicy and a PodDisruptionBudget select pods that exist",
	Why: "A selector of labels that no pod has is allowed, and does nothing (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors). It may be meant, for pods that come later. " +
		"Pods of the cluster itself, those that only an operator makes, and labels that pods give themselves are a note.",
	Fix:  "Correct the selector.",
	Says: "selects pods with %s, and there are none", Then: "%[2]s",
	Others: map[string]judge.Message{
		"cluster":  {Says: "selects pods of the cluster itself (%s), which a simulated cluster does not have", Then: "whether there are any is not verified"},
		"operator": {Says: "selects pods with %s, which nothing but an operator's own pods can have: its release has %s", Then: "whether there are any is not verified"},
		"itself":   {Says: "selects pods with %s: those of %s have labels of these, and may give themselves the others when they run", Then: "whether they do is not verified"},
	},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(selecting...) {
			selector, path, then := selectorIn(s, o)
			set, err := metav1.LabelSelectorAsSelector(selector)
			if selector == nil || err != nil || set.Empty() {
				continue
			}
			namespace := o.Object.GetNamespace()
			if !s.NoPod(set, func(in string) bool { return in == namespace }) {
				continue
			}
			if namespace == metav1.NamespaceSystem && facts.OfTheCluster(set) {
				s.ReportAs("cluster", o, path, set).Note()
			} else if by := s.Operated(o); by != nil {
				s.ReportAs("operator", o, path, set, by.Ref()).Note()
			} else if by := s.LabelsItself(set, namespace); by != nil {
				s.ReportAs("itself", o, path, set, by.Ref()).Note()
			} else {
				s.Report(o, path, set, then)
			}
		}
	},
}

// selectorIn is the selector for pods of an object, and what comes of one that selects none; nil for an object without.
func selectorIn(s *judge.Scope, o *bundle.Object) (selector *metav1.LabelSelector, path, then string) {
	switch o.Object.GetKind() {
	case "PodDisruptionBudget":
		if b := facts.As[policyv1.PodDisruptionBudget](s.Index, o); b != nil {
			return b.Spec.Selector, "spec.selector", "it protects nothing"
		}
	case "NetworkPolicy":
		if p := facts.As[networkingv1.NetworkPolicy](s.Index, o); p != nil {
			return &p.Spec.PodSelector, "spec.podSelector", "it allows and denies nothing"
		}
	case "Service":
		if v := facts.As[corev1.Service](s.Index, o); v != nil && v.Spec.Type != corev1.ServiceTypeExternalName {
			return &metav1.LabelSelector{MatchLabels: v.Spec.Selector}, "spec.selector", "it has no endpoints"
		}
	}
	return nil, "", ""
}
