package refs

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// scope is what a webhook is for.
type scope struct {
	rules      []admissionv1.RuleWithOperations
	namespaces *metav1.LabelSelector
	objects    *metav1.LabelSelector
	// conditions: a webhook with any may not be for an object that the rest selects.
	conditions []admissionv1.MatchCondition
}

// unordered warns of the objects of other components that a webhook is for which fails closed, if
// nothing makes these components wait for its own: their installation fails while its pods start.
// One warning for each component, however many webhooks it meets: one dependency mends all.
func (c *checker) unordered(o *bundle.Object, name string, s scope) {
	if len(s.conditions) > 0 {
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
		c.warn(reference{from: list[0].Ref(), component: component, template: list[0].Template,
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
		return r.Component == component && leadsTo(r.Name, func(name string) []string { return of(name).DependsOn }, func(name string) bool { return of(name).Component == on })
	})
}

// isFor reports whether creating an object calls the webhook.
func (c *checker) isFor(s scope, o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	if gvk.Group == "admissionregistration.k8s.io" && strings.HasSuffix(gvk.Kind, "WebhookConfiguration") {
		return false // the API server calls no webhook for these
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	has := func(list []string, want string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, want)
	}
	if !slices.ContainsFunc(s.rules, func(r admissionv1.RuleWithOperations) bool {
		create := slices.ContainsFunc(r.Operations, func(op admissionv1.OperationType) bool {
			return op == admissionv1.Create || op == admissionv1.OperationAll
		})
		return create && has(r.APIGroups, gvk.Group) && has(r.APIVersions, gvk.Version) && (has(r.Resources, plural.Resource) || slices.Contains(r.Resources, "*/*"))
	}) {
		return false
	}
	if !selects(s.objects, o.GetLabels()) {
		return false
	}
	namespace := o.GetNamespace()
	if gvk.Group == "" && gvk.Kind == "Namespace" {
		namespace = o.GetName()
	}
	return namespace == "" || selects(s.namespaces, c.labelsOf(namespace))
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
