package workload

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// It waits for the cluster, which has the pods to count: those of DaemonSets, Jobs and operators, too.
var budgetOfNone = judge.Check{
	ID: "MX124", Name: "disruption-budget-of-none", Needs: judge.Settled, Kinds: budgets,
	Title: "A PodDisruptionBudget lets one of its pods be evicted",
	Why: "Draining a node evicts its pods, and waits while their budget allows none to go: for ever with maxUnavailable: 0, or minAvailable of all " +
		"(https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors).",
	Fix:  "Allow one, or have more pods.",
	Says: "allows none of its %d pods to be evicted", Then: "a node with one of them cannot be drained",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(budgets...) {
			b := facts.As[policyv1.PodDisruptionBudget](s.Index, o)
			if b == nil {
				continue
			}
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err != nil {
				continue
			}
			pods := 0
			for i := range s.Live.View.Pods {
				if p := &s.Live.View.Pods[i]; p.Namespace == b.Namespace && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
					pods++
				}
			}
			if allowed, err := evictable(b, pods); pods > 0 && err == nil && allowed <= 0 {
				s.Report(o, "spec", pods)
			}
		}
	},
}

// evictable is how many of its pods a budget allows to be evicted.
func evictable(b *policyv1.PodDisruptionBudget, pods int) (int, error) {
	switch {
	case b.Spec.MaxUnavailable != nil:
		return intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, pods, true)
	case b.Spec.MinAvailable != nil:
		least, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, pods, true)
		return pods - least, err
	}
	return pods, nil
}
