package facts

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

// Webhook is one of a configuration, of either kind.
type Webhook struct {
	Name   string
	Client *admissionv1.WebhookClientConfig
	Policy *admissionv1.FailurePolicyType
	WebhookScope
}

// FailsClosed reports whether the API server refuses a request if the webhook does not answer, which is
// the default.
func (w *Webhook) FailsClosed() bool { return w.Policy == nil || *w.Policy != admissionv1.Ignore }

// WebhookScope is what a webhook is for.
type WebhookScope struct {
	Rules      []admissionv1.RuleWithOperations
	Namespaces *metav1.LabelSelector
	Objects    *metav1.LabelSelector
	// Conditions: a webhook with any may not be for an object that the rest selects.
	Conditions []admissionv1.MatchCondition
}

// Webhooks are the webhooks of a configuration; none for another object.
func Webhooks(o *unstructured.Unstructured) []Webhook {
	var all []Webhook
	switch o.GroupVersionKind().GroupKind().String() {
	case "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		var v admissionv1.ValidatingWebhookConfiguration
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &v) == nil {
			for i := range v.Webhooks {
				w := &v.Webhooks[i]
				all = append(all, Webhook{w.Name, &w.ClientConfig, w.FailurePolicy, WebhookScope{w.Rules, w.NamespaceSelector, w.ObjectSelector, w.MatchConditions}})
			}
		}
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io":
		var m admissionv1.MutatingWebhookConfiguration
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &m) == nil {
			for i := range m.Webhooks {
				w := &m.Webhooks[i]
				all = append(all, Webhook{w.Name, &w.ClientConfig, w.FailurePolicy, WebhookScope{w.Rules, w.NamespaceSelector, w.ObjectSelector, w.MatchConditions}})
			}
		}
	}
	return all
}

// RuleNames reports whether a rule names an operation on the kind of an object. Whether it is for the scope of
// the kind is not looked at. The API server calls no webhook for configurations of webhooks.
func RuleNames(r admissionv1.RuleWithOperations, op admissionv1.OperationType, o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	if gvk.Group == admissionv1.GroupName && strings.HasSuffix(gvk.Kind, "WebhookConfiguration") {
		return false
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	operated := slices.Contains(r.Operations, op) || slices.Contains(r.Operations, admissionv1.OperationAll)
	return operated && problem.Covers(r.APIGroups, gvk.Group) && problem.Covers(r.APIVersions, gvk.Version) &&
		(problem.Covers(r.Resources, plural.Resource) || slices.Contains(r.Resources, "*/*"))
}
