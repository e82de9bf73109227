package refs

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

// object checks what one object refers to.
func (c *checker) object(o *bundle.Object) {
	r := refsReference{from: o.Ref(), component: o.Component, template: o.Template}
	switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "autoscaling/HorizontalPodAutoscaler":
		c.autoscaler(o, r)
	case "policy/PodDisruptionBudget":
		var b policyv1.PodDisruptionBudget
		if problem.Read(o, &b) {
			c.selectsPods(r, b.Namespace, b.Spec.Selector, "it protects nothing")
		}
	case "networking.k8s.io/NetworkPolicy":
		var p networkingv1.NetworkPolicy
		if problem.Read(o, &p) {
			c.selectsPods(r, p.Namespace, &p.Spec.PodSelector, "it allows and denies nothing")
		}
	case "/Service":
		var s corev1.Service
		if !problem.Read(o, &s) {
			return
		}
		if len(s.Spec.Selector) > 0 && s.Spec.Type != corev1.ServiceTypeExternalName {
			c.selectsPods(r, s.Namespace, &metav1.LabelSelector{MatchLabels: s.Spec.Selector}, "it has no endpoints")
		}
	case "monitoring.coreos.com/ServiceMonitor", "monitoring.coreos.com/PodMonitor":
		c.monitor(o, r)
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration", "admissionregistration.k8s.io/MutatingWebhookConfiguration":
		for _, w := range facts.Webhooks(o.Object) {
			c.calls(o, r, w.Name, w.Client, w.Policy, w.WebhookScope)
		}
	case "apiregistration.k8s.io/APIService":
		c.served(o, r, []string{"spec", "service"}, "is served by", "every discovery of APIs is incomplete, and namespaces cannot be deleted")
	case "apiextensions.k8s.io/CustomResourceDefinition":
		c.conversion(o)
		c.conversions(o, r)
	case "networking.k8s.io/Ingress":
		var in networkingv1.Ingress
		if class := ""; problem.Read(o, &in) {
			if class = deref(in.Spec.IngressClassName); class != "" && !c.have.IngressClasses[class] {
				r.name, r.text, r.then = class, "names IngressClass "+class+", which the recipe does not install", "unless the cluster provides it, no controller serves it"
				c.warn(r)
			}
		}
	}
}

func (c *checker) autoscaler(o *bundle.Object, r refsReference) {
	var h autoscalingv2.HorizontalPodAutoscaler
	if !problem.Read(o, &h) {
		return
	}
	t := h.Spec.ScaleTargetRef
	switch t.Kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
	default:
		return // only its operator knows another kind's scale
	}
	key := observe.WorkloadKey(t.Kind, h.Namespace, t.Name)
	if _, ok := c.have.View.Live[key]; ok {
		return
	}
	if m := c.maker(t.Kind, h.Namespace, t.Name, r.from); m != nil {
		c.note("%s, which %s (%s) scales, is made at run time by %s", key, r.from, r.component, m.By)
		return
	}
	r.name, r.cause, r.then = t.Name, "target "+key, "the autoscaler reports FailedGetScale and scales nothing"
	r.text = fmt.Sprintf("scales %s, which does not exist", key)
	c.fail(reason.DeployFailed, r)
}

// selectsPods checks that a selector matches a pod. One that matches nothing may be intended, for
// pods that come later.
func (c *checker) selectsPods(r refsReference, namespace string, selector *metav1.LabelSelector, then string) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || s.Empty() || c.podMatches(s, func(ns string) bool { return ns == namespace }) {
		return
	}
	if namespace == metav1.NamespaceSystem && ofTheCluster(s) {
		c.note("%s (%s) selects pods of the cluster itself (%s), which a simulated cluster does not have", r.from, r.component, s)
		return
	}
	if by := c.operatorOf(r); by != "" {
		c.note("%s (%s) selects pods with %s, which nothing but an operator's own pods can have: its release has %s", r.from, r.component, s, by)
		return
	}
	if by := c.labelled(s, namespace); by != "" {
		c.note("%s (%s) selects pods with %s: those of %s have labels of these, and may give themselves the others when they run", r.from, r.component, s, by)
		return
	}
	r.text, r.then = fmt.Sprintf("selects pods with %s, and there are none", s), then
	c.warn(r)
}

// labelled returns a workload whose pods lack only labels that none has from the start, and whose
// ServiceAccount may change pods: which of several is the leader, say, they find out when they run.
func (c *checker) labelled(s labels.Selector, namespace string) string {
	requirements, _ := s.Requirements()
	for i := range c.expectation.Workloads {
		w := &c.expectation.Workloads[i]
		o := c.find(w.Kind, w.Namespace, w.Name, w.Release)
		if w.Namespace != namespace || o == nil || !facts.TextMay(c.expectation, namespace, w.PodSpec.ServiceAccountName, "", "pods", "update", "patch") {
			continue
		}
		fits, lacks := 0, false
		for _, q := range requirements {
			switch set := labels.Set(problem.Template(o).Labels); {
			case q.Matches(set):
				fits++
			case set.Has(q.Key()):
				lacks = true
			}
		}
		if fits > 0 && !lacks {
			return observe.WorkloadRef(w.Kind, w.Namespace, w.Name).String()
		}
	}
	return ""
}

// podMatches looks at the existing pods, and at the templates of those that do not exist.
func (c *checker) podMatches(s labels.Selector, inNamespace func(string) bool) bool {
	for i := range c.have.View.Pods {
		if p := &c.have.View.Pods[i]; inNamespace(p.Namespace) && s.Matches(labels.Set(p.Labels)) {
			return true
		}
	}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if t := problem.Template(o); t != nil && inNamespace(o.Object.GetNamespace()) && s.Matches(labels.Set(t.Labels)) {
			return true
		}
	}
	return false
}

// ofTheCluster reports whether a selector is for a cluster's own pods: its DNS, proxies and control
// plane.
func ofTheCluster(s labels.Selector) bool {
	requirements, _ := s.Requirements()
	return slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		values := r.Values().List()
		return (r.Key() == "k8s-app" || r.Key() == "component" || r.Key() == "tier") && slices.ContainsFunc(values, func(v string) bool {
			return slices.Contains([]string{"kube-dns", "kube-proxy", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "control-plane"}, v)
		})
	})
}

// operatorOf returns a custom resource of the release whose operator may create pods that no
// stand-in simulates; "" if there is none.
func (c *checker) operatorOf(r refsReference) string {
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		group := o.Object.GroupVersionKind().Group
		if o.Component != r.component || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
			continue
		}
		if slices.Contains([]string{"monitoring.coreos.com", "cert-manager.io"}, group) {
			continue // the expectation has what the operators of these create
		}
		return o.Ref().String()
	}
	return ""
}

func (c *checker) monitor(o *bundle.Object, r refsReference) {
	s := problem.Selector(o, "spec", "selector")
	if s == nil {
		return
	}
	spaces, _, _ := unstructured.NestedStringSlice(o.Object.Object, "spec", "namespaceSelector", "matchNames")
	everywhere, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "namespaceSelector", "any")
	if len(spaces) == 0 {
		spaces = []string{o.Object.GetNamespace()}
	}
	in := func(ns string) bool { return everywhere || slices.Contains(spaces, ns) }
	what := "pods"
	if o.Object.GetKind() == "ServiceMonitor" {
		what = "Services"
		if slices.ContainsFunc(c.have.Services, func(svc corev1.Service) bool { return in(svc.Namespace) && s.Matches(labels.Set(svc.Labels)) }) {
			return
		}
	} else if c.podMatches(s, in) {
		return
	}
	if in(metav1.NamespaceSystem) && ofTheCluster(s) {
		c.note("%s (%s) is for %s of the cluster itself (%s), which a simulated cluster does not have", r.from, r.component, what, s)
		return
	}
	if by := c.madeService(s, in); by != "" && what == "Services" {
		c.note("%s (%s) is for the Service with %s that %s makes at run time", r.from, r.component, s, by)
		return
	}
	if by := c.operatorOf(r); by != "" {
		c.note("%s (%s) is for %s with %s, which nothing but an operator can make: its release has %s", r.from, r.component, what, s, by)
		return
	}
	r.text, r.then = fmt.Sprintf("is for %s with %s, and there are none", what, s), "nothing is scraped"
	c.warn(r)
}

// madeService reports whether prometheus-operator creates the Service: the kubelets' one, by its
// flag --kubelet-service=NAMESPACE/NAME, with two labels of its own.
func (c *checker) madeService(s labels.Selector, in func(string) bool) string {
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		spec := facts.PodSpec(o)
		if spec == nil {
			continue
		}
		for j := range spec.Containers {
			for _, arg := range spec.Containers[j].Args {
				full, ok := strings.CutPrefix(arg, "--kubelet-service=")
				namespace, name, _ := strings.Cut(full, "/")
				if ok && in(namespace) && s.Matches(labels.Set{"k8s-app": "kubelet", "app.kubernetes.io/name": "kubelet", "app.kubernetes.io/managed-by": "prometheus-operator"}) && name != "" {
					return fmt.Sprintf("%s (%s)", o.Ref(), o.Component)
				}
			}
		}
	}
	return ""
}

// calls checks what the API server needs to call a webhook, and for what it calls it.
func (c *checker) calls(o *bundle.Object, r refsReference, name string, client *admissionv1.WebhookClientConfig, policy *admissionv1.FailurePolicyType, s facts.WebhookScope) {
	c.webhook(r, name, client.Service, policy)
	if problem := c.loopback(r, client.URL); problem != "" {
		r := r
		r.cause = "address of " + name + " " + r.from.String()
		c.refusedBy(r, fmt.Sprintf("webhook %s calls %s", name, problem), policy)
	}
	c.trust(o, r, name, client, policy)
	if policy == nil || *policy == admissionv1.Fail {
		c.unordered(o, name, s)
		c.selfish(r, name, client, s)
	}
}

// webhook checks the Service of a webhook that fails closed: without it, every request that the
// webhook is for fails. One that fails open is left out.
func (c *checker) webhook(r refsReference, name string, service *admissionv1.ServiceReference, policy *admissionv1.FailurePolicyType) {
	if service == nil {
		return
	}
	port := int32(443)
	if service.Port != nil {
		port = *service.Port
	}
	problem := c.noService(r, service.Namespace, service.Name, port)
	if problem == "" {
		return
	}
	r.name, r.cause = service.Name, "Service "+service.Namespace+"/"+service.Name
	c.refusedBy(r, fmt.Sprintf("webhook %s calls %s", name, problem), policy)
}

// refusedBy reports a webhook that cannot be called: a fault if it fails closed.
func (c *checker) refusedBy(r refsReference, text string, policy *admissionv1.FailurePolicyType) {
	r.text = text
	if policy != nil && *policy == admissionv1.Ignore {
		r.then = "the API server leaves it out (failurePolicy Ignore)"
		c.warn(r)
		return
	}
	r.then = "the API server refuses every request that it is for (failurePolicy Fail)"
	c.fail(reason.DeployFailed, r)
}

func (c *checker) served(o *bundle.Object, r refsReference, path []string, verb, then string) {
	m, ok, _ := unstructured.NestedMap(o.Object.Object, path...)
	if !ok {
		return
	}
	namespace, _ := m["namespace"].(string)
	name, _ := m["name"].(string)
	port, ok := m["port"].(int64)
	if !ok {
		port = 443
	}
	if problem := c.noService(r, namespace, name, int32(port)); problem != "" {
		r.name, r.cause, r.text, r.then = name, "Service "+namespace+"/"+name, verb+" "+problem, then
		c.fail(reason.DeployFailed, r)
	}
}

// noService says what is wrong with a Service that the API server must call; "" if nothing is, or
// if it is created at run time.
func (c *checker) noService(r refsReference, namespace, name string, port int32) string {
	full := infra.NamespacedName(namespace, name)
	svc := c.have.Service(namespace, name)
	if svc == nil {
		if m := c.maker("Service", namespace, name, r.from); m != nil {
			c.note("Service %s, which %s (%s) names, is made at run time by %s", full, r.from, r.component, m.By)
			return ""
		}
		return "Service " + full + ", which does not exist"
	}
	if svc.Spec.Type != corev1.ServiceTypeExternalName && !slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port }) {
		return fmt.Sprintf("port %d of Service %s, which has no such port", port, full)
	}
	if s := labels.SelectorFromSet(svc.Spec.Selector); svc.Spec.Type != corev1.ServiceTypeExternalName && !s.Empty() && c.have.View != nil && c.operatorOf(r) == "" && !c.podMatches(s, func(ns string) bool { return ns == namespace }) && c.labelled(s, namespace) == "" {
		return fmt.Sprintf("Service %s, whose selector (%s) is that of no pod", full, s)
	}
	return ""
}

// loopback says what is wrong with the address of a webhook on the API server's own machine; "" if the
// address is another, or if a pod of the recipe that uses the machine's network may listen there.
func (c *checker) loopback(r refsReference, address *string) string {
	at, err := url.Parse(deref(address))
	if address == nil || err != nil || !egress.Loopback(at.Host) {
		return ""
	}
	port := cmp.Or(at.Port(), "443")
	for i := range c.expectation.Workloads {
		w := &c.expectation.Workloads[i]
		if !w.PodSpec.HostNetwork {
			continue
		}
		for _, container := range slices.Concat(w.PodSpec.InitContainers, w.PodSpec.Containers) {
			if slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return fmt.Sprint(p.ContainerPort) == port }) {
				c.note("%s (%s) calls %s, which %s may serve where it is on the API server's machine", r.from, r.component, deref(address), observe.WorkloadRef(w.Kind, w.Namespace, w.Name))
				return ""
			}
		}
	}
	return deref(address) + ", the API server's own machine, and nothing in the recipe serves it there"
}
