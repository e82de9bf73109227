package workload

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var budgets = judge.KindsOf(policyv1.GroupName, "PodDisruptionBudget")

var twoBudgets = judge.Check{
	ID: "MX123", Name: "two-disruption-budgets", Needs: judge.Rendered, Kinds: budgets,
	Title: "A pod has one PodDisruptionBudget",
	Why: "The API server evicts no pod that several budgets are for: the eviction fails with an internal error " +
		"(https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/#how-api-initiated-eviction-works).",
	Fix:  "Remove one, or make their selectors differ.",
	Says: "protects the pods of %s, and so does %s (%s)", Then: "the API server evicts no pod that has two budgets, so that its node cannot be drained",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(budgets...) {
			own := budgeted(facts.As[policyv1.PodDisruptionBudget](s.Index, o))
			if own == nil {
				continue
			}
			for _, other := range s.Before(o) {
				its := budgeted(facts.As[policyv1.PodDisruptionBudget](s.Index, other))
				if its == nil {
					continue
				}
				if pods := firstPods(s, o.Object.GetNamespace(), own, its); pods != nil {
					s.Report(o, "spec.selector", pods.Ref(), other.Ref(), other.Component)
					break
				}
			}
		}
	},
}

// budgeted is the selector of a budget; nil if it cannot be read.
func budgeted(b *policyv1.PodDisruptionBudget) labels.Selector {
	if b == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil
	}
	return selector
}

// firstPods is the first object whose pods both selectors take; nil without one.
func firstPods(s *judge.Scope, namespace string, one, two labels.Selector) *bundle.Object {
	for _, p := range s.PodsOf(namespace, one) {
		if two.Matches(labels.Set(p.Template.Labels)) {
			return p.Object
		}
	}
	return nil
}
