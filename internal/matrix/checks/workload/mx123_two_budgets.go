package workload

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var budgets = judge.KindsOf(policyv1.GroupName, "PodDisruptionBudget")

var twoBudgets = judge.Check{
	ID: "MX123", Name: "two-disruption-budgets", Needs: judge.Settled, Kinds: budgets,
	Title: "A pod has one PodDisruptionBudget",
	Why: "The API server evicts no pod that several budgets are for: the eviction fails with an internal error " +
		"(https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/#how-api-initiated-eviction-works).",
	Fix:  "Remove one, or make their selectors differ.",
	Says: "protects pod %s, and so does %s (%s)", Then: "the API server evicts no pod that has two budgets, so that its node cannot be drained",
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
				if pod := firstPod(s, o.Object.GetNamespace(), own, its); pod != "" {
					s.Report(o, "spec.selector", pod, other.Ref(), other.Component)
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

// firstPod is a pod of the cluster that both selectors take; empty without one.
func firstPod(s *judge.Scope, namespace string, one, two labels.Selector) string {
	for i := range s.Live.View.Pods {
		if p := &s.Live.View.Pods[i]; p.Namespace == namespace && one.Matches(labels.Set(p.Labels)) && two.Matches(labels.Set(p.Labels)) {
			return p.Name
		}
	}
	return ""
}
