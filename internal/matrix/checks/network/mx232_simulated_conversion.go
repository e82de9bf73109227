package network

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// It waits for the cluster: which programs run there is the platform's to decide.
var simulatedConversion = judge.Check{
	ID: "MX232", Name: "conversion-simulated", Needs: judge.Settled, Kinds: definitions,
	Title: "The program that converts a kind runs in the cell",
	Why: "A webhook converts the versions of a kind (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion). " +
		"Where its pods are simulated a stand-in changes apiVersion alone, so that it is a note.",
	Fix:  "Nothing: it says what was not verified.",
	Says: "has versions that are converted by Service %s, whose pods are simulated", Then: "where its objects have another version than the stored one, only apiVersion was changed",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(definitions...) {
			for _, c := range callsOf(s, o) {
				if svc := s.Service(c.namespace, c.name); svc == nil || !runsForReal(s, svc) {
					s.Report(o, c.path+".service", infra.NamespacedName(c.namespace, c.name)).Note()
				}
			}
		}
	},
}

// runsForReal reports whether the pods of a Service run as processes.
func runsForReal(s *judge.Scope, svc *corev1.Service) bool {
	return s.Live.Runs != nil && slices.ContainsFunc(s.Live.View.Pods, func(p corev1.Pod) bool {
		return p.Namespace == svc.Namespace && len(svc.Spec.Selector) > 0 && labels.SelectorFromSet(svc.Spec.Selector).Matches(labels.Set(p.Labels)) && s.Live.Runs(&p.Spec.Containers[0])
	})
}
