package network

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var calledWithoutPods = judge.Check{
	ID: "MX250", Name: "called-service-without-pods", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Title: "A Service that the API server calls has pods",
	Why: "A webhook that fails closed, an APIService and a conversion are all answered by a Service's pods (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy). " +
		"With 0 replicas nobody answers. In a cell webhooks are not called, so that nothing shows it.",
	Fix:  "Give the workload a replica, or leave the webhook, the APIService or the conversion out.",
	Says: "%s calls Service %s, whose only pods are those of %s (%s), which has 0 replicas", Then: "%[5]s",
	Run: func(s *judge.Scope) {
		if !slices.ContainsFunc(s.Expectation.Workloads, func(w bundle.Workload) bool { return facts.Idle(&w) }) {
			return
		}
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			for _, c := range calledBy(o.Object) {
				if w := asleep(s.Expectation, c.namespace, c.name); w != nil {
					at := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
					s.Report(o, c.path, c.what, c.namespace+"/"+c.name, at, w.Component, c.then).SetBy("replicas").OneCause(at.String())
					break // one for an object: its webhooks mostly share a Service
				}
			}
		}
	},
}

// called is a Service that the API server sends requests to.
type called struct{ what, path, then, namespace, name string }

// calledBy are the Services that an object has the API server call; webhooks that fail open are left
// out.
func calledBy(o *unstructured.Unstructured) []called {
	var all []called
	add := func(what, path, then string) {
		namespace, name := facts.Text(o, path+".namespace"), facts.Text(o, path+".name")
		if name != "" {
			all = append(all, called{what, path, then, namespace, name})
		}
	}
	switch o.GetKind() {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		webhooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for i, w := range webhooks {
			m, _ := w.(map[string]any)
			if policy, _ := m["failurePolicy"].(string); policy != string(admissionv1.Ignore) {
				add(fmt.Sprintf("webhook %v", m["name"]), fmt.Sprintf("webhooks[%d].clientConfig.service", i), "the API server refuses every request that it is for (failurePolicy Fail)")
			}
		}
	case "APIService":
		add("it", "spec.service", "every discovery of APIs is incomplete, and namespaces cannot be deleted")
	case "CustomResourceDefinition":
		if facts.Text(o, "spec.conversion.strategy") == "Webhook" {
			add("its conversion", "spec.conversion.webhook.clientConfig.service", "objects of versions other than the stored one can neither be read nor written")
		}
	}
	return all
}

// asleep is a workload without pods that a Service selects, if it selects no other one.
func asleep(e *bundle.Expectation, namespace, name string) *bundle.Workload {
	i := slices.IndexFunc(e.Objects, func(o bundle.Object) bool {
		return o.Object.GetKind() == "Service" && o.Object.GetNamespace() == namespace && o.Object.GetName() == name
	})
	if i < 0 {
		return nil
	}
	selector, _, _ := unstructured.NestedStringMap(e.Objects[i].Object.Object, "spec", "selector")
	if len(selector) == 0 {
		return nil
	}
	var found *bundle.Workload
	for j := range e.Objects {
		o := e.Objects[j].Object
		pod, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
		if o.GetNamespace() != namespace || !labels.SelectorFromSet(selector).Matches(labels.Set(pod)) {
			continue
		}
		w := slices.IndexFunc(e.Workloads, func(w bundle.Workload) bool {
			return w.Kind == o.GetKind() && w.Namespace == namespace && w.Name == o.GetName()
		})
		if w < 0 || !facts.Idle(&e.Workloads[w]) {
			return nil // another kind of workload, or one with pods
		}
		found = &e.Workloads[w]
	}
	return found
}
