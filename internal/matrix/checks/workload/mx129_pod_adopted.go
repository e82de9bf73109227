package workload

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

var podAdopted = judge.Check{
	ID: "MX129", Name: "pod-of-a-controller", Needs: judge.Rendered, Kinds: judge.KindsOf("", "Pod"),
	Title: "No controller selects a Pod of its own",
	Why: "A controller adopts pods that have the labels of its selector and no owner (https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#non-template-pod-acquisitions). " +
		"The pods of a Deployment and of a Job have a label besides, which a Pod of its own lacks, and a StatefulSet adopts a pod with the name of one of its own alone.",
	Fix:  "Give the Pod other labels.",
	Says: "has labels that %s selects (%s), and no owner", Then: "the controller adopts it as one of its pods, makes one less of its own, and deletes it where it has too many",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "Pod")...) {
			if len(o.Object.GetOwnerReferences()) > 0 {
				continue
			}
			for _, c := range s.Rendered() {
				if c.Object.GetNamespace() != o.Object.GetNamespace() {
					continue
				}
				if selector := adopts(c, o.Object.GetName()); selector != nil && selector.Matches(labels.Set(o.Object.GetLabels())) {
					s.Report(o, "metadata.labels", c.Ref(), selector).SetBy("labels")
					break
				}
			}
		}
	},
}

// adopts is the selector by which a controller adopts a Pod of that name; nil if it adopts none.
func adopts(c *bundle.Object, name string) labels.Selector {
	switch gvk := c.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "apps/StatefulSet":
		number, ok := strings.CutPrefix(name, c.Object.GetName()+"-")
		if !ok || strings.Trim(number, "0123456789") != "" {
			return nil
		}
	case "apps/DaemonSet", "apps/ReplicaSet":
	case "batch/Job":
		if manual, _, _ := unstructured.NestedBool(c.Object.Object, "spec", "manualSelector"); !manual {
			return nil
		}
	case corev1.GroupName + "/ReplicationController":
		if set, _, _ := unstructured.NestedStringMap(c.Object.Object, "spec", "selector"); len(set) > 0 {
			return labels.SelectorFromSet(set)
		}
		return nil
	default:
		return nil
	}
	return problem.Selector(c, "spec", "selector")
}
