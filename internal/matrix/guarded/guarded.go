// Package guarded finds objects that Helm cannot delete: a webhook of the same release is asked about
// their deletion and fails closed, and its Service is deleted before them, and it after them. A simulated
// cluster calls no webhook, so that nothing else notices. It must not know which lane it is.
package guarded

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/webhooks"
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
		for _, w := range webhooks.In(config.Object) {
			if !judged(&w) {
				continue
			}
			service := slices.IndexFunc(removed, func(o *bundle.Object) bool {
				return o.Object.GetKind() == "Service" && o.Object.GetName() == w.Client.Service.Name && o.Object.GetNamespace() == w.Client.Service.Namespace
			})
			if service < 0 {
				continue
			}
			for _, o := range removed {
				if after(o, removed[service], order) && after(config, o, order) && asked(w.Rules, o.Object) && !slices.ContainsFunc(all, func(known Object) bool { return known.Object == o }) {
					all = append(all, Object{o, config, fmt.Sprintf("webhook %s of %s is asked about its deletion and fails closed, and Helm deletes its %s first, and the webhook last: the API server refuses to delete %s", w.Name, config.Ref(), removed[service].Ref(), o.Ref())})
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

// judged reports whether what follows is certain: the webhook fails closed, is served in the cluster, and
// nothing leaves objects out.
func judged(w *webhooks.Webhook) bool {
	return w.Client.Service != nil && w.FailsClosed() && everything(w.Namespaces) && everything(w.Objects) && len(w.Conditions) == 0
}

func everything(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// asked reports whether a webhook is asked about the deletion of an object. None is about those of its
// own group, policies included.
func asked(rules []admissionv1.RuleWithOperations, o *unstructured.Unstructured) bool {
	if o.GroupVersionKind().Group == admissionv1.GroupName {
		return false
	}
	return slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
		inScope := r.Scope == nil || *r.Scope == admissionv1.AllScopes || (*r.Scope == admissionv1.NamespacedScope) == (o.GetNamespace() != "")
		return inScope && webhooks.Names(r, admissionv1.Delete, o)
	})
}
