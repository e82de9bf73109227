package refs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// criticalPods checks pods of a system priority on GKE: its API server admits them only in a
// namespace that has a quota for their priority, and kube-system is the only one that has one by
// itself. Elsewhere every namespace may have such pods.
func (c *checker) criticalPods(w *bundle.Workload) {
	class := w.PodSpec.PriorityClassName
	if class != "system-node-critical" && class != "system-cluster-critical" || w.Namespace == metav1.NamespaceSystem || !c.onGKE() {
		return
	}
	if slices.ContainsFunc(c.expectation.Objects, func(o bundle.Object) bool {
		var q corev1.ResourceQuota
		return o.Object.GetKind() == "ResourceQuota" && o.Object.GetNamespace() == w.Namespace && problem.Read(&o, &q) && allowsPriority(&q, class)
	}) {
		return
	}
	c.fail(reason.WorkloadFailed, refsReference{
		from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template, name: class, cause: "priority " + class + " in " + w.Namespace,
		text: fmt.Sprintf("has priority class %s, and namespace %s has no ResourceQuota for it", class, w.Namespace),
		then: "GKE rejects its pods (insufficient quota to match these scopes); add a ResourceQuota whose scopeSelector has PriorityClass " + class,
	})
}

// allowsPriority reports whether a quota is for pods of a priority class.
func allowsPriority(q *corev1.ResourceQuota, class string) bool {
	return q.Spec.ScopeSelector != nil && slices.ContainsFunc(q.Spec.ScopeSelector.MatchExpressions, func(e corev1.ScopedResourceSelectorRequirement) bool {
		return e.ScopeName == corev1.ResourceQuotaScopePriorityClass && (e.Operator == corev1.ScopeSelectorOpExists || e.Operator == corev1.ScopeSelectorOpIn && slices.Contains(e.Values, class))
	})
}

func (c *checker) onGKE() bool { return facts.Provider(c.have.View.Nodes) == facts.GKE }
