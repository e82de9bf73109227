package refs

import (
	"cmp"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/refs/needs"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// earlier returns the objects of a kind that come before one in the bundle.
func (c *checker) earlier(o *bundle.Object) (before []*bundle.Object) {
	for i := range c.expectation.Objects {
		other := &c.expectation.Objects[i]
		if other == o {
			break
		}
		if other.Object.GroupVersionKind().GroupKind() == o.Object.GroupVersionKind().GroupKind() && other.Object.GetNamespace() == o.Object.GetNamespace() && other.Ref() != o.Ref() {
			before = append(before, other)
		}
	}
	return before
}

// scaledTwice warns of a second autoscaler for one workload: Kubernetes then follows neither.
func (c *checker) scaledTwice(o *bundle.Object, r reference, h *autoscalingv2.HorizontalPodAutoscaler) {
	for _, other := range c.earlier(o) {
		var before autoscalingv2.HorizontalPodAutoscaler
		if t := h.Spec.ScaleTargetRef; problem.Read(other, &before) && before.Spec.ScaleTargetRef.Kind == t.Kind && before.Spec.ScaleTargetRef.Name == t.Name {
			r.text, r.then = fmt.Sprintf("scales %s, and so does %s (%s)", observe.WorkloadKey(t.Kind, h.Namespace, t.Name), other.Ref(), other.Component), "neither does: both report AmbiguousSelector"
			c.warn(r)
			return
		}
	}
}

// protectedTwice warns of a pod that two PodDisruptionBudgets are for: the API server evicts none.
func (c *checker) protectedTwice(o *bundle.Object, r reference, b *policyv1.PodDisruptionBudget) {
	own, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return
	}
	for _, other := range c.earlier(o) {
		var before policyv1.PodDisruptionBudget
		if !problem.Read(other, &before) {
			continue
		}
		its, err := metav1.LabelSelectorAsSelector(before.Spec.Selector)
		if err != nil {
			continue
		}
		for i := range c.have.View.Pods {
			if p := &c.have.View.Pods[i]; p.Namespace == b.Namespace && own.Matches(labels.Set(p.Labels)) && its.Matches(labels.Set(p.Labels)) {
				r.text, r.then = fmt.Sprintf("protects pod %s, and so does %s (%s)", p.Name, other.Ref(), other.Component), "the API server evicts no pod that has two budgets, so that its node cannot be drained"
				c.warn(r)
				return
			}
		}
	}
}

// governing warns of a StatefulSet whose Service does not exist: its pods get no names in DNS.
func (c *checker) governing(o *bundle.Object, r reference) {
	var set appsv1.StatefulSet
	if !problem.Read(o, &set) || set.Spec.ServiceName == "" || c.have.Service(set.Namespace, set.Spec.ServiceName) != nil || c.maker("Service", set.Namespace, set.Spec.ServiceName, r.from) != nil {
		return
	}
	r.name, r.text, r.then = set.Spec.ServiceName, fmt.Sprintf("names Service %s (spec.serviceName), which does not exist", infra.NamespacedName(set.Namespace, set.Spec.ServiceName)), "its pods have no names in DNS"
	c.warn(r)
}

// routes warns of a backend of an Ingress that does not exist, or has no such port.
func (c *checker) routes(r reference, in *networkingv1.Ingress) {
	var backends []*networkingv1.IngressServiceBackend
	add := func(b *networkingv1.IngressBackend) {
		if b != nil && b.Service != nil && !slices.ContainsFunc(backends, func(have *networkingv1.IngressServiceBackend) bool { return *have == *b.Service }) {
			backends = append(backends, b.Service)
		}
	}
	add(in.Spec.DefaultBackend)
	for _, rule := range in.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for i := range rule.HTTP.Paths {
			add(&rule.HTTP.Paths[i].Backend)
		}
	}
	for _, b := range backends {
		r := r
		r.name, r.then = b.Name, "its controller answers with an error"
		full := infra.NamespacedName(in.Namespace, b.Name)
		s := c.have.Service(in.Namespace, b.Name)
		switch {
		case s == nil && c.maker("Service", in.Namespace, b.Name, r.from) == nil:
			r.text = "sends requests to Service " + full + ", which does not exist"
		case s != nil && !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Name == b.Port.Name && b.Port.Name != "" || p.Port == b.Port.Number
		}):
			port := b.Port.Name
			if port == "" {
				port = fmt.Sprint(b.Port.Number)
			}
			r.text = fmt.Sprintf("sends requests to port %s of Service %s, which has no such port", port, full)
		default:
			continue
		}
		c.warn(r)
	}
}

// subjects warns of a binding for a ServiceAccount that does not exist, if one of that name does in
// another namespace: the role is probably meant for that.
func (c *checker) subjects(o *bundle.Object, r reference) {
	var b rbacv1.RoleBinding // which a ClusterRoleBinding looks like
	if !problem.Read(o, &b) {
		return
	}
	for _, s := range b.Subjects {
		s.Namespace = cmp.Or(s.Namespace, o.Object.GetNamespace()) // a RoleBinding's own, where it names none
		if s.Kind != rbacv1.ServiceAccountKind || c.have.ServiceAccounts[infra.NamespacedName(s.Namespace, s.Name)] || s.Name == "default" || observe.Makes(c.expectation, s.Kind, s.Namespace, s.Name) {
			continue
		}
		for i := range c.expectation.Objects {
			other := &c.expectation.Objects[i]
			if other.Release == o.Release && other.Object.GetKind() == s.Kind && other.Object.GetName() == s.Name {
				r.name, r.text, r.then = s.Namespace, fmt.Sprintf("is for ServiceAccount %s, which does not exist; there is %s", infra.NamespacedName(s.Namespace, s.Name), infra.NamespacedName(other.Object.GetNamespace(), s.Name)), "that one is allowed nothing by it"
				c.warn(r)
				break
			}
		}
	}
}

// selfish warns of a webhook that fails closed and is for the pods that serve it: once none of them
// runs, none can be created.
func (c *checker) selfish(r reference, name string, client *admissionv1.WebhookClientConfig, s facts.WebhookScope) {
	if client.Service == nil || len(s.Conditions) > 0 {
		return
	}
	service := c.have.Service(client.Service.Namespace, client.Service.Name)
	if service == nil || len(service.Spec.Selector) == 0 {
		return
	}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		template := problem.Template(o)
		if template == nil || o.Object.GetNamespace() != service.Namespace || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)) {
			continue
		}
		pod := &unstructured.Unstructured{}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetNamespace(service.Namespace)
		pod.SetLabels(template.Labels)
		if c.isFor(s, pod) {
			r.text, r.then = fmt.Sprintf("webhook %s fails closed and is for the pods of %s, which serve it", name, o.Ref()), "once none of them runs, e.g. after a restart of the nodes, none can be created: leave its namespace out"
			c.warn(r)
			return
		}
	}
}

// token finds a Secret for the token of a ServiceAccount that does not exist: Kubernetes deletes it.
func (c *checker) token(o *bundle.Object) {
	kind, _, _ := unstructured.NestedString(o.Object.Object, "type")
	name := o.Object.GetAnnotations()[corev1.ServiceAccountNameKey]
	if o.Object.GetKind() != needs.Secret || kind != string(corev1.SecretTypeServiceAccountToken) || name == "" || name == "default" {
		return
	}
	r := reference{from: o.Ref(), component: o.Component, template: o.Template, name: name, cause: "token of " + o.Ref().String(), then: "Kubernetes deletes it as soon as it is created"}
	if observe.Makes(c.expectation, "ServiceAccount", o.Object.GetNamespace(), name) || c.maker("ServiceAccount", o.Object.GetNamespace(), name, r.from) != nil {
		return
	}
	r.text = fmt.Sprintf("is for the token of ServiceAccount %s, which nothing in the recipe makes", infra.NamespacedName(o.Object.GetNamespace(), name))
	c.fail(reason.DeployFailed, r)
}
