package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var criticalPods = judge.Check{
	ID: "MX152", Name: "critical-pods-without-quota", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "On GKE, pods of a system priority are in a namespace with a quota for them",
	Why: "GKE's API server admits pods of the priorities system-node-critical and system-cluster-critical only in a namespace that has a ResourceQuota for their priority, " +
		"and kube-system alone has one by itself (https://kubernetes.io/docs/concepts/policy/resource-quotas/#limit-priority-class-consumption-by-default). Elsewhere every namespace may have such pods.",
	Fix:  "Add a ResourceQuota whose scopeSelector has the PriorityClass.",
	Says: "has priority class %s, and namespace %s has no ResourceQuota for it",
	Then: "GKE rejects its pods (insufficient quota to match these scopes); add a ResourceQuota whose scopeSelector has PriorityClass %[1]s",
	Run: func(s *judge.Scope) {
		if facts.Provider(s.Nodes) != facts.GKE {
			return
		}
		for _, p := range s.Pods() {
			class, namespace := p.Template.Spec.PriorityClassName, p.Object.Object.GetNamespace()
			if class != "system-node-critical" && class != "system-cluster-critical" || namespace == metav1.NamespaceSystem {
				continue
			}
			if !slices.ContainsFunc(s.Rendered(judge.KindsOf("", "ResourceQuota")...), func(o *bundle.Object) bool {
				q := facts.As[corev1.ResourceQuota](s.Index, o)
				return q != nil && q.Namespace == namespace && allowsPriority(q, class)
			}) {
				s.Report(p.Object, p.Path()+".priorityClassName", class, namespace).OneCause(class + " in " + namespace)
			}
		}
	},
}

// allowsPriority reports whether a quota is for pods of a priority class.
func allowsPriority(q *corev1.ResourceQuota, class string) bool {
	return q.Spec.ScopeSelector != nil && slices.ContainsFunc(q.Spec.ScopeSelector.MatchExpressions, func(e corev1.ScopedResourceSelectorRequirement) bool {
		return e.ScopeName == corev1.ResourceQuotaScopePriorityClass && (e.Operator == corev1.ScopeSelectorOpExists || e.Operator == corev1.ScopeSelectorOpIn && slices.Contains(e.Values, class))
	})
}
