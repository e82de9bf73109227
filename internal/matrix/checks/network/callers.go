package network

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// call is a Service that something outside of the pod network calls: no selector of pods or namespaces of a
// NetworkPolicy is ever for it, only an ipBlock or a rule without from.
type call struct {
	namespace, service string
	port               int32 // 0: any of the Service
	what, who, then    string
}

// calls are those of the API server that an object asks for, and those of a Service's clients from outside.
func calls(s *judge.Scope, o *bundle.Object) (all []call) {
	add := func(raw map[string]any, what, then string) {
		c := call{namespace: fmt.Sprint(raw["namespace"]), service: fmt.Sprint(raw["name"]), port: 443, what: what, who: "the API server is no pod", then: then}
		if port, ok := raw["port"].(int64); ok {
			c.port = int32(port)
		}
		if raw != nil {
			all = append(all, c)
		}
	}
	field := func(of map[string]any, path ...string) map[string]any {
		m, _, _ := unstructured.NestedMap(of, path...)
		return m
	}
	switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration", "admissionregistration.k8s.io/MutatingWebhookConfiguration":
		webhooks, _, _ := unstructured.NestedSlice(o.Object.Object, "webhooks")
		for _, w := range webhooks {
			if m, _ := w.(map[string]any); m["failurePolicy"] != "Ignore" {
				add(field(m, "clientConfig", "service"), fmt.Sprintf("webhook %v of %s, which fails closed", m["name"], o.Ref()), "where the cluster's network enforces policies, the API server refuses every request that the webhook is for")
			}
		}
	case "apiregistration.k8s.io/APIService":
		add(field(o.Object.Object, "spec", "service"), o.Ref().String(), "where the cluster's network enforces policies, the API is unavailable, and no namespace can be deleted")
	case "apiextensions.k8s.io/CustomResourceDefinition":
		add(field(o.Object.Object, "spec", "conversion", "webhook", "clientConfig", "service"), "the conversion of "+o.Ref().String(), "where the cluster's network enforces policies, its objects cannot be read in another version")
	case "/Service":
		svc := facts.As[corev1.Service](s.Index, o)
		if svc != nil && (svc.Spec.Type == corev1.ServiceTypeLoadBalancer || svc.Spec.Type == corev1.ServiceTypeNodePort) {
			all = append(all, call{namespace: svc.Namespace, service: svc.Name, what: fmt.Sprintf("%s (%s)", o.Ref(), svc.Spec.Type), who: "its clients from outside are no pods",
				then: "where the cluster's network enforces policies, it answers none of them"})
		}
	}
	return all
}

// calledFromOutside reports whether a Service that leads to pods is called by what is no pod.
func calledFromOutside(s *judge.Scope, pods facts.PodTemplate) bool {
	namespace := pods.Object.Object.GetNamespace()
	return slices.ContainsFunc(s.Rendered(), func(o *bundle.Object) bool {
		return slices.ContainsFunc(calls(s, o), func(c call) bool {
			return c.namespace == namespace && slices.ContainsFunc(s.Services(), func(s corev1.Service) bool {
				return s.Namespace == namespace && s.Name == c.service && len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pods.Template.Labels))
			})
		})
	})
}
