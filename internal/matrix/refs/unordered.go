package refs

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// unordered warns of the objects of other components that a webhook is for which fails closed, if
// nothing makes these components wait for its own: their installation fails while its pods start.
// One warning for each component, however many webhooks it meets: one dependency mends all.
func (c *checker) unordered(o *bundle.Object, name string, s facts.WebhookScope) {
	if len(s.Conditions) > 0 {
		return
	}
	matched := map[string][]*bundle.Object{}
	var components []string
	for i := range c.expectation.Objects {
		other := &c.expectation.Objects[i]
		if other.Component == o.Component || c.waitsFor(other.Component, o.Component) || !c.isFor(s, other.Object) {
			continue
		}
		if matched[other.Component] == nil {
			components = append(components, other.Component)
		}
		matched[other.Component] = append(matched[other.Component], other)
	}
	for _, component := range components {
		pair := [2]string{component, o.Component}
		if c.unorderedPairs[pair] {
			continue
		}
		c.unorderedPairs[pair] = true
		list := matched[component]
		more := ""
		if len(list) > 1 {
			more = fmt.Sprintf(", and %d more of its objects", len(list)-1)
		}
		c.warn(refsReference{from: list[0].Ref(), component: component, template: list[0].Template,
			text: fmt.Sprintf("webhook %s of %s (%s) is for it%s and fails closed, and %s does not depend on %s", name, o.Ref(), o.Component, more, component, o.Component),
			then: "the API server refuses it while the webhook's pods start"})
	}
}

// waitsFor reports whether a release of a component comes after one of another, directly or not.
func (c *checker) waitsFor(component, on string) bool {
	of := func(name string) bundle.Release {
		i := slices.IndexFunc(c.expectation.Releases, func(r bundle.Release) bool { return r.Name == name })
		if i < 0 {
			return bundle.Release{}
		}
		return c.expectation.Releases[i]
	}
	return slices.ContainsFunc(c.expectation.Releases, func(r bundle.Release) bool {
		return r.Component == component && lane.LeadsTo(r.Name, func(name string) []string { return of(name).DependsOn }, func(name string) bool { return of(name).Component == on })
	})
}

// isFor reports whether creating an object calls the webhook.
func (c *checker) isFor(s facts.WebhookScope, o *unstructured.Unstructured) bool {
	if !slices.ContainsFunc(s.Rules, func(r admissionv1.RuleWithOperations) bool { return facts.RuleNames(r, admissionv1.Create, o) }) {
		return false
	}
	if !selects(s.Objects, o.GetLabels()) {
		return false
	}
	namespace := o.GetNamespace()
	if gvk := o.GroupVersionKind(); gvk.Group == "" && gvk.Kind == "Namespace" {
		namespace = o.GetName()
	}
	return namespace == "" || selects(s.Namespaces, c.labelsOf(namespace))
}

func selects(s *metav1.LabelSelector, set map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(set))
}

// labelsOf gives the labels of a namespace, as far as the bundle decides them.
func (c *checker) labelsOf(namespace string) map[string]string {
	set := map[string]string{}
	for i := range c.expectation.Objects {
		if o := c.expectation.Objects[i].Object; o.GetKind() == "Namespace" && o.GetName() == namespace {
			for k, v := range o.GetLabels() {
				set[k] = v
			}
		}
	}
	set[corev1.LabelMetadataName] = namespace
	return set
}
