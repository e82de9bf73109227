package workload

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

var selectorOfTwo = judge.Check{
	ID: "MX110", Name: "selector-takes-other-pods", Needs: judge.Rendered, Kinds: judge.KindsOf("apps", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"),
	Title: "The selector of a workload is for its own pods alone",
	Why: "Controllers leave each other's pods alone, by their owners. Whatever looks for pods by labels does not: an autoscaler, a PodDisruptionBudget, kubectl " +
		"(https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#selector).",
	Fix:  "Give each workload of a namespace a label with a value of its own, in its selector and its template.",
	Says: "selects pods with %s, and those of %s are among them", Then: "what looks for pods by these labels, e.g. an autoscaler, takes the others for its own",
	Run: func(s *judge.Scope) {
		for _, kind := range judge.KindsOf("apps", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet") {
			var before []*bundle.Object // of two, the later one is told
			for _, o := range s.Rendered(kind) {
				selector := problem.Selector(o, "spec", "selector")
				if selector == nil {
					continue
				}
				if i := slices.IndexFunc(before, func(other *bundle.Object) bool {
					theirs, _, _ := unstructured.NestedStringMap(other.Object.Object, "spec", "template", "metadata", "labels")
					return other.Object.GetNamespace() == o.Object.GetNamespace() && other.Object.GetName() != o.Object.GetName() && selector.Matches(labels.Set(theirs))
				}); i >= 0 {
					s.Report(o, "spec.selector", selector, before[i].Ref()).SetBy("matchLabels")
				}
				before = append(before, o)
			}
		}
	},
}
