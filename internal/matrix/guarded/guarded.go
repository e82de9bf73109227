// Package guarded finds objects that Helm cannot delete: a webhook of the same release is asked about
// their deletion and fails closed, and its Service is deleted before them, and it after them. A simulated
// cluster calls no webhook, so that nothing else notices. It must not know which lane it is.
package guarded

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// Object is one that stays, with the webhook's words for why.
type Object struct {
	*bundle.Object
	Webhook *bundle.Object // its configuration
	Why     string
}

// Find lists what of these objects of one release Helm cannot delete, if it deletes all of them in an order
// of kinds: that of installation when an upgrade removes them, and of its own when it uninstalls.
func Find(removed []*bundle.Object, order releaseutil.KindSortOrder) []Object {
	var all []Object
	for _, config := range removed {
		for _, w := range webhooksOf(config.Object) {
			service := slices.IndexFunc(removed, func(o *bundle.Object) bool {
				return o.Object.GetKind() == "Service" && o.Object.GetName() == w.service.Name && o.Object.GetNamespace() == w.service.Namespace
			})
			if service < 0 {
				continue
			}
			for _, o := range removed {
				if after(o, removed[service], order) && after(config, o, order) && w.asked(o.Object) && !slices.ContainsFunc(all, func(known Object) bool { return known.Object == o }) {
					all = append(all, Object{o, config, fmt.Sprintf("webhook %s of %s is asked about its deletion and fails closed, and Helm deletes its %s first, and the webhook last: the API server refuses to delete %s", w.name, config.Ref(), removed[service].Ref(), o.Ref())})
				}
			}
		}
	}
	return all
}

// after reports whether Helm deletes an object after another one. Kinds that it does not know come last, by name.
func after(o, other *bundle.Object, order releaseutil.KindSortOrder) bool {
	a, b := slices.Index(order, o.Object.GetKind()), slices.Index(order, other.Object.GetKind())
	switch {
	case a < 0 && b < 0:
		return o.Object.GetKind() > other.Object.GetKind()
	case a < 0 || b < 0:
		return a < 0
	}
	return a > b
}

// webhook is one that may be judged: it fails closed, and nothing leaves objects out.
type webhook struct {
	name    string
	service *admissionv1.ServiceReference
	rules   []admissionv1.RuleWithOperations
}

func webhooksOf(o *unstructured.Unstructured) []webhook {
	var all []webhook
	add := func(name string, client admissionv1.WebhookClientConfig, policy *admissionv1.FailurePolicyType, rules []admissionv1.RuleWithOperations, namespaces, objects *metav1.LabelSelector, conditions []admissionv1.MatchCondition) {
		open := policy != nil && *policy == admissionv1.Ignore
		if client.Service != nil && !open && everything(namespaces) && everything(objects) && len(conditions) == 0 {
			all = append(all, webhook{name, client.Service, rules})
		}
	}
	switch o.GroupVersionKind().GroupKind().String() {
	case "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		var v admissionv1.ValidatingWebhookConfiguration
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &v) == nil {
			for _, w := range v.Webhooks {
				add(w.Name, w.ClientConfig, w.FailurePolicy, w.Rules, w.NamespaceSelector, w.ObjectSelector, w.MatchConditions)
			}
		}
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io":
		var m admissionv1.MutatingWebhookConfiguration
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &m) == nil {
			for _, w := range m.Webhooks {
				add(w.Name, w.ClientConfig, w.FailurePolicy, w.Rules, w.NamespaceSelector, w.ObjectSelector, w.MatchConditions)
			}
		}
	}
	return all
}

func everything(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// asked reports whether a webhook is asked about the deletion of an object.
func (w webhook) asked(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	if gvk.Group == admissionv1.GroupName { // webhooks are not asked about each other
		return false
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	has := func(list []string, one string) bool { return slices.Contains(list, "*") || slices.Contains(list, one) }
	return slices.ContainsFunc(w.rules, func(r admissionv1.RuleWithOperations) bool {
		deletes := slices.Contains(r.Operations, admissionv1.Delete) || slices.Contains(r.Operations, admissionv1.OperationAll)
		scope := r.Scope == nil || *r.Scope == admissionv1.AllScopes || (*r.Scope == admissionv1.NamespacedScope) == (o.GetNamespace() != "")
		return deletes && scope && has(r.APIGroups, gvk.Group) && has(r.APIVersions, gvk.Version) && has(r.Resources, resource.Resource)
	})
}
