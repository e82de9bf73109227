package everyday

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// call is a Service that something outside of the pod network calls: no selector of pods or namespaces of a NetworkPolicy
// is ever for it, only an ipBlock or a rule without from.
type call struct {
	namespace, service string
	port               int32 // 0: any of the Service
	what, who, then    string
}

// calls are those of the API server that an object asks for, and those of a Service's clients from outside.
func (f *finder) calls(o *bundle.Object) []call {
	const server = "the API server is no pod"
	var all []call
	from := func(path ...string) {
		raw, ok, _ := unstructured.NestedMap(o.Object.Object, path...)
		if !ok {
			return
		}
		c := call{namespace: fmt.Sprint(raw["namespace"]), service: fmt.Sprint(raw["name"]), port: 443, who: server}
		if port, ok := raw["port"].(int64); ok {
			c.port = int32(port)
		}
		all = append(all, c)
	}
	switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration", "admissionregistration.k8s.io/MutatingWebhookConfiguration":
		for _, w := range facts.Webhooks(o.Object) {
			if s := w.Client.Service; s != nil && w.FailsClosed() {
				c := call{namespace: s.Namespace, service: s.Name, port: 443, who: server, what: fmt.Sprintf("webhook %s of %s, which fails closed", w.Name, o.Ref())}
				if s.Port != nil {
					c.port = *s.Port
				}
				c.then = "where the cluster's network enforces policies, the API server refuses every request that the webhook is for"
				all = append(all, c)
			}
		}
	case "apiregistration.k8s.io/APIService":
		from("spec", "service")
		for i := range all {
			all[i].what, all[i].then = o.Ref().String(), "where the cluster's network enforces policies, the API is unavailable, and no namespace can be deleted"
		}
	case "apiextensions.k8s.io/CustomResourceDefinition":
		from("spec", "conversion", "webhook", "clientConfig", "service")
		for i := range all {
			all[i].what, all[i].then = "the conversion of "+o.Ref().String(), "where the cluster's network enforces policies, its objects cannot be read in another version"
		}
	case "/Service":
		var s corev1.Service
		if problem.Read(o, &s) && (s.Spec.Type == corev1.ServiceTypeLoadBalancer || s.Spec.Type == corev1.ServiceTypeNodePort) {
			all = append(all, call{namespace: s.Namespace, service: s.Name, what: fmt.Sprintf("%s (%s)", o.Ref(), s.Spec.Type), who: "its clients from outside are no pods",
				then: "where the cluster's network enforces policies, it answers none of them"})
		}
	}
	return all
}

// shutOut warns of a NetworkPolicy that lets only pods reach the pods of a Service which something else calls.
func (f *finder) shutOut(o *bundle.Object) {
	for _, c := range f.calls(o) {
		i := slices.IndexFunc(f.have.Services, func(s corev1.Service) bool { return s.Namespace == c.namespace && s.Name == c.service })
		if i < 0 || len(f.have.Services[i].Spec.Selector) == 0 {
			continue
		}
		selector := labels.SelectorFromSet(f.have.Services[i].Spec.Selector)
		for j := range f.e.Objects {
			w := &f.e.Objects[j]
			template := problem.Template(w)
			if template == nil || w.Object.GetNamespace() != c.namespace || !selector.Matches(labels.Set(template.Labels)) || template.Spec.HostNetwork {
				continue
			}
			policy := f.shuts(c, template, targets(&f.have.Services[i], c.port, &template.Spec))
			if policy == nil {
				continue
			}
			p := problem.Of(policy)
			p.Name, p.Cause = "podSelector", "shuts out "+c.what
			p.Text = fmt.Sprintf("lets only pods reach those of %s, which serve %s, and %s", w.Ref(), c.what, c.who)
			p.Then = c.then + ": allow its port without from, or from an ipBlock"
			f.found = append(f.found, p)
			break
		}
	}
}

// shuts returns the first policy for pods if none of those for them lets a call in that is from no pod; nil if one does,
// if there is none, or if another kind of policy may.
func (f *finder) shuts(c call, template *corev1.PodTemplateSpec, ports []corev1.ContainerPort) *bundle.Object {
	var first *bundle.Object
	for i := range f.e.Objects {
		o := &f.e.Objects[i]
		gvk := o.Object.GroupVersionKind()
		if gvk.Kind != "NetworkPolicy" || gvk.Group != networkingv1.GroupName {
			if slices.Contains([]string{"NetworkPolicy", "CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy", "GlobalNetworkPolicy"}, gvk.Kind) {
				return nil
			}
			continue
		}
		var p networkingv1.NetworkPolicy
		if !problem.Read(o, &p) || p.Namespace != c.namespace || !chosen(&p, labels.Set(template.Labels)) || len(p.Spec.PolicyTypes) > 0 && !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			continue
		}
		if first == nil {
			first = o
		}
		if slices.ContainsFunc(p.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
			outside := len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool { return peer.IPBlock != nil })
			return outside && (len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(port networkingv1.NetworkPolicyPort) bool { return allows(&port, ports) }))
		}) {
			return nil
		}
	}
	return first
}

// allows reports whether a port of a rule is one of these; what is not known may be.
func allows(rule *networkingv1.NetworkPolicyPort, ports []corev1.ContainerPort) bool {
	if rule.Port == nil || len(ports) == 0 {
		return true
	}
	return slices.ContainsFunc(ports, func(p corev1.ContainerPort) bool {
		switch {
		case rule.Port.Type == intstr.String:
			return rule.Port.StrVal == p.Name
		case rule.EndPort != nil:
			return rule.Port.IntVal <= p.ContainerPort && p.ContainerPort <= *rule.EndPort
		}
		return rule.Port.IntVal == p.ContainerPort
	})
}

// targets are the ports of pods to which a port of a Service leads, or any of its ports for 0.
func targets(s *corev1.Service, port int32, spec *corev1.PodSpec) (all []corev1.ContainerPort) {
	for _, p := range s.Spec.Ports {
		if port != 0 && p.Port != port {
			continue
		}
		to := corev1.ContainerPort{ContainerPort: p.TargetPort.IntVal}
		if p.TargetPort.Type == intstr.Int && to.ContainerPort == 0 {
			to.ContainerPort = p.Port
		}
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			for _, have := range c.Ports {
				if p.TargetPort.Type == intstr.String && have.Name == p.TargetPort.StrVal || p.TargetPort.Type == intstr.Int && have.ContainerPort == to.ContainerPort {
					to = have
				}
			}
		}
		if to.ContainerPort != 0 {
			all = append(all, to)
		}
	}
	return all
}
