package network

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var webhookOfOwnPods = judge.Check{
	ID: "MX229", Name: "webhook-for-its-own-pods", Needs: judge.Rendered, Kinds: webhookConfigurations,
	Title: "A webhook that fails closed is not for the pods that serve it",
	Why:   "Once none of its pods runs, none can be created (https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/#avoid-self-mutation).",
	Fix:   "Leave its namespace out (namespaceSelector).",
	Says:  "webhook %s fails closed and is for the pods of %s, which serve it",
	Then:  "once none of them runs, e.g. after a restart of the nodes, none can be created: leave its namespace out",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(webhookConfigurations...) {
			for i, w := range facts.Webhooks(o.Object) {
				if w.Client.Service == nil || len(w.Conditions) > 0 || !w.FailsClosed() {
					continue
				}
				if own := ownPods(s, &w); own != nil {
					s.Report(o, fmt.Sprintf("webhooks[%d]", i), w.Name, own.Ref())
				}
			}
		}
	},
}

// ownPods is an object whose pods serve a webhook that is for them; nil if there is none.
func ownPods(s *judge.Scope, w *facts.Webhook) *bundle.Object {
	service := s.Service(w.Client.Service.Namespace, w.Client.Service.Name)
	if service == nil || len(service.Spec.Selector) == 0 {
		return nil
	}
	for _, p := range s.PodsOf(service.Namespace, labels.SelectorFromSet(service.Spec.Selector)) {
		pod := &unstructured.Unstructured{}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetNamespace(service.Namespace)
		pod.SetLabels(p.Template.Labels)
		if !s.IsMade(p.Object) && isForObject(s, w.WebhookScope, pod) {
			return p.Object
		}
	}
	return nil
}
