package network

import (
	"fmt"
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

var webhookOrder = judge.Check{
	ID: "MX228", Name: "webhook-not-before-its-objects", Needs: judge.Rendered, Kinds: webhookConfigurations,
	Title: "A component depends on that of a webhook for its objects which fails closed, or is depended on by it",
	Why: "While a webhook's pods start, the API server refuses what it is for (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy). " +
		"One warning for each component, however many webhooks it meets: one dependency mends all.",
	Fix:  "Add the webhook's component to the dependencies of the other one, or that one to the webhook's.",
	Says: "webhook %s of %s (%s) is for it%s and fails closed, and neither of %s and %[3]s depends on the other", Then: "the API server refuses it while the webhook's pods start",
	Run: func(s *judge.Scope) {
		seen := map[[2]string]bool{}
		for _, o := range s.Rendered(webhookConfigurations...) {
			for _, w := range facts.Webhooks(o.Object) {
				if w.FailsClosed() && len(w.Conditions) == 0 {
					unordered(s, o, &w, seen)
				}
			}
		}
	},
}

// unordered warns of the components with objects that a webhook is for, if nothing makes them wait for its own, or it for
// them.
func unordered(s *judge.Scope, o *bundle.Object, w *facts.Webhook, seen map[[2]string]bool) {
	matched := map[string][]*bundle.Object{}
	var components []string
	for _, other := range s.Rendered() {
		if other.Component == o.Component || waitsFor(s, other.Component, o.Component) || waitsFor(s, o.Component, other.Component) || !isForObject(s, w.WebhookScope, other.Object) {
			continue
		}
		if matched[other.Component] == nil {
			components = append(components, other.Component)
		}
		matched[other.Component] = append(matched[other.Component], other)
	}
	for _, component := range components {
		pair := [2]string{component, o.Component}
		if seen[pair] {
			continue
		}
		seen[pair] = true
		list, more := matched[component], ""
		if len(list) > 1 {
			more = fmt.Sprintf(", and %d more of its objects", len(list)-1)
		}
		s.Report(list[0], "", w.Name, o.Ref(), o.Component, more, component)
	}
}

// waitsFor reports whether a release of a component comes after one of another, directly or not.
func waitsFor(s *judge.Scope, component, on string) bool {
	releases := map[string]bundle.Release{}
	for _, r := range s.Expectation.Releases {
		releases[r.Name] = r
	}
	return slices.ContainsFunc(s.Expectation.Releases, func(r bundle.Release) bool {
		return r.Component == component && lane.LeadsTo(r.Name, func(name string) []string { return releases[name].DependsOn }, func(name string) bool { return releases[name].Component == on })
	})
}

// isForObject reports whether creating an object calls a webhook.
func isForObject(s *judge.Scope, w facts.WebhookScope, o *unstructured.Unstructured) bool {
	if !slices.ContainsFunc(w.Rules, func(r admissionv1.RuleWithOperations) bool { return facts.RuleNames(r, admissionv1.Create, o) }) || !takes(w.Objects, o.GetLabels()) {
		return false
	}
	namespace := o.GetNamespace()
	if gvk := o.GroupVersionKind(); gvk.Group == "" && gvk.Kind == "Namespace" {
		namespace = o.GetName()
	}
	return namespace == "" || takes(w.Namespaces, namespaceLabels(s, namespace))
}

func takes(s *metav1.LabelSelector, set map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(set))
}

// namespaceLabels gives the labels of a namespace, as far as the bundle decides them.
func namespaceLabels(s *judge.Scope, namespace string) map[string]string {
	set := map[string]string{}
	for _, o := range s.Rendered(judge.KindsOf("", "Namespace")...) {
		if o.Object.GetName() == namespace {
			maps.Copy(set, o.Object.GetLabels())
		}
	}
	set[corev1.LabelMetadataName] = namespace
	return set
}
