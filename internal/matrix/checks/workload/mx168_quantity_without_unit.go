package workload

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var quantityWithoutUnit = judge.Check{
	ID: "MX168", Name: "quantity-without-unit", Needs: judge.Rendered,
	Title: "Memory and storage have a unit",
	Why: "A quantity without one is in bytes (https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#meaning-of-memory): 10 of storage are ten bytes, and were meant to be 10Gi. " +
		"The API server takes them, and the scheduler finds room for the pod on any node.",
	Fix:  "Write Mi or Gi.",
	Says: "asks for %s of %s, which are bytes", Then: "it gets less than a program needs: write Mi or Gi",
	Run: func(s *judge.Scope) {
		few := func(list corev1.ResourceList, name corev1.ResourceName) (string, bool) {
			q, ok := list[name]
			return q.String(), ok && !q.IsZero() && q.Value() < 1<<10
		}
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
					if text, is := few(c.Resources.Requests, name); is {
						s.Report(p.Object, c.Path+".resources.requests."+string(name), text, name).OneOfTemplate()
					}
				}
			}
		}
		for _, c := range s.Claims() {
			if text, is := few(c.Spec.Resources.Requests, corev1.ResourceStorage); is {
				s.Report(c.Object, c.Path+".resources.requests.storage", text, corev1.ResourceStorage)
			}
		}
	},
}
