package daytwo

// guarded.go finds objects that Helm cannot delete: a webhook of the same release is asked about
// their deletion and fails closed, and its Service is deleted before them, and it after them. A simulated
// cluster calls no webhook, so that nothing else notices. It must not know which lane it is.

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/result"
)

// guardedObject is one that stays.
type guardedObject struct {
	*bundle.Object
	Webhook *bundle.Object // its configuration
	// Name is the webhook's, and Service where its program is.
	Name    string
	Service result.Ref
}

// findGuarded lists what of these objects of one release Helm cannot delete, if it deletes all of them in an order
// of kinds: that of installation when an upgrade removes them, and of its own when it uninstalls.
func findGuarded(removed []*bundle.Object, order releaseutil.KindSortOrder) []guardedObject {
	var all []guardedObject
	for _, config := range removed {
		for _, w := range facts.Webhooks(config.Object) {
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
				if after(o, removed[service], order) && after(config, o, order) && asked(w.Rules, o.Object) && !slices.ContainsFunc(all, func(known guardedObject) bool { return known.Object == o }) {
					all = append(all, guardedObject{o, config, w.Name, removed[service].Ref()})
				}
			}
		}
	}
	return all
}

// guardedFinding is the failure of a removal that leaves these objects.
func guardedFinding(found []guardedObject) result.Finding {
	ref, first := found[0].Ref(), found[0]
	f := result.Finding{Check: guardedUninstall.ID, Object: &ref, Component: first.Component, Cause: fmt.Sprintf("after the removal: %s stays: webhook %s of %s is asked about its deletion and fails closed, and Helm deletes its %s first, and the webhook last: the API server refuses to delete %[1]s", ref, first.Name, first.Webhook.Ref(), first.Service)}
	for i, o := range found {
		if i > 0 {
			f.Others = append(f.Others, o.Ref())
		}
		f.Story = append(f.Story, fmt.Sprintf("%s: %s (component %s); the webhook: %s", o.Ref(), o.Where(), o.Component, o.Webhook.Where()))
	}
	if n := len(found) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	return f
}

// guardedOwned lists, by release, the ordinary objects that Helm deletes when their release has them no more, and
// that are of this kind: none of a hook or of crds/, and none that is kept by its annotations.
func guardedOwned(e *bundle.Expectation, kept func(map[string]string) bool, which func(*bundle.Object) bool) map[string][]*bundle.Object {
	all := map[string][]*bundle.Object{}
	for i := range e.Objects {
		o := &e.Objects[i]
		if o.Hook || o.Object.GetName() == "" || o.InCRDs() || kept(o.Object.GetAnnotations()) || !which(o) {
			continue
		}
		all[o.Release] = append(all[o.Release], o)
	}
	return all
}

// uninstalledGuard is the failure of the removal of a bundle, each of whose releases Helm uninstalls once; nil
// if it leaves nothing. Helm ends with an error then, and whoever called it too.
func uninstalledGuard(e *bundle.Expectation) *result.Finding {
	all := guardedOwned(e, rendering.KeptAtUninstall, func(*bundle.Object) bool { return true })
	for _, r := range slices.Backward(e.Releases) {
		if found := findGuarded(all[r.Name], releaseutil.UninstallOrder); len(found) > 0 && !hasProgram(e, r.Name, "pre-delete") {
			f := guardedFinding(found)
			hook := found[0].Webhook.Ref()
			f.Story = append(f.Story,
				fmt.Sprintf("helm uninstall %s ends with an error, so that the releases that are removed after it stay, too", r.Name),
				fmt.Sprintf("delete it first: kubectl delete %s %s", strings.ToLower(hook.Kind), hook.Name))
			return &f
		}
	}
	return nil
}

// hasProgram reports whether a release has a hook with pods that runs at an event of Helm: it may remove a
// webhook first.
func hasProgram(e *bundle.Expectation, release, event string) bool {
	return slices.ContainsFunc(e.Objects, func(o bundle.Object) bool {
		kind := o.Object.GetKind()
		return o.Hook && o.Release == release && (kind == "Job" || kind == "Pod") && rendering.RunsInHelm(o.Object.GetAnnotations(), event)
	})
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
func judged(w *facts.Webhook) bool {
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
		return inScope && facts.RuleNames(r, admissionv1.Delete, o)
	})
}
