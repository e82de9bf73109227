package refs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/observe"
)

// budget warns of a PodDisruptionBudget that allows no disruption: a node cannot be drained.
func (c *checker) budget(r reference, b *policyv1.PodDisruptionBudget) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return
	}
	pods := 0
	for i := range c.have.View.Pods {
		if p := &c.have.View.Pods[i]; p.Namespace == b.Namespace && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
			pods++
		}
	}
	if pods == 0 {
		return
	}
	allowed := pods
	switch {
	case b.Spec.MaxUnavailable != nil:
		allowed, err = intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, pods, true)
	case b.Spec.MinAvailable != nil:
		var least int
		least, err = intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, pods, true)
		allowed = pods - least
	}
	if err == nil && allowed <= 0 {
		r.text, r.then = fmt.Sprintf("allows none of its %d pods to be evicted", pods), "a node with one of them cannot be drained"
		c.warn(r)
	}
}

// loadBalancer warns of a Service for a load balancer that nothing serves, and of one port twice.
func (c *checker) loadBalancer(r reference, s *corev1.Service) {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	if class := deref(s.Spec.LoadBalancerClass); class != "" && !c.mentioned(class, r) {
		r := r
		r.name, r.text, r.then = class, "has loadBalancerClass "+class+", which nothing in the recipe serves", "unless the cluster provides it, the Service gets no address"
		c.warn(r)
	}
	seen := map[int32]corev1.Protocol{}
	for _, p := range s.Spec.Ports {
		protocol := p.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		if other, twice := seen[p.Port]; twice && other != protocol {
			r := r
			r.text, r.then = fmt.Sprintf("is a load balancer with port %d for %s and for %s", p.Port, other, protocol), "not every provider's load balancer can have both"
			c.warn(r)
		}
		seen[p.Port] = protocol
	}
}

// mentioned reports whether a workload's command, arguments or environment name the text.
func (c *checker) mentioned(text string, r reference) bool {
	return slices.ContainsFunc(c.expectation.Objects, func(o bundle.Object) bool {
		spec := facts.PodSpec(&o)
		return spec != nil && o.Ref() != r.from && facts.ArgumentsName(spec, text)
	})
}

// targetPorts warns of a port of a Service that no container of its pods has. A number may be one
// that a container listens on and does not declare, so only names count.
func (c *checker) targetPorts(r reference, s *corev1.Service) {
	for _, p := range s.Spec.Ports {
		name := p.TargetPort.StrVal
		if p.TargetPort.Type != intstr.String || name == "" {
			continue
		}
		if c.lacksPort(s.Namespace, labels.SelectorFromSet(s.Spec.Selector), name) {
			r := r
			r.name, r.text, r.then = name, fmt.Sprintf("sends port %d to port %s of its pods, and no container has one of that name", p.Port, name), "nothing answers there"
			c.warn(r)
		}
	}
}

// allowedPorts warns of a port that a policy allows by a name which no container of its pods has.
func (c *checker) allowedPorts(r reference, p *networkingv1.NetworkPolicy) {
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	for _, rule := range p.Spec.Ingress {
		for _, port := range rule.Ports {
			if err == nil && port.Port != nil && port.Port.Type == intstr.String && c.lacksPort(p.Namespace, selector, port.Port.StrVal) {
				r := r
				r.name, r.text, r.then = port.Port.StrVal, fmt.Sprintf("allows traffic to port %s of its pods, and no container has one of that name", port.Port.StrVal), "it allows nothing there"
				c.warn(r)
			}
		}
	}
}

// lacksPort reports whether there are pods with the labels, and none of them has a port of the name.
func (c *checker) lacksPort(namespace string, selector labels.Selector, name string) bool {
	pods := 0
	for i := range c.have.View.Pods {
		pod := &c.have.View.Pods[i]
		if pod.Namespace != namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if pods++; declaresPort(&pod.Spec, name) {
			return false
		}
	}
	return pods > 0
}

func declaresPort(spec *corev1.PodSpec, name string) bool {
	return slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers), func(container corev1.Container) bool {
		return slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
	})
}

// binding warns of a role that does not exist: the subjects may do nothing.
func (c *checker) binding(o *bundle.Object, r reference) {
	kind, _, _ := unstructured.NestedString(o.Object.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(o.Object.Object, "roleRef", "name")
	namespace, have := "", c.have.ClusterRoles
	if kind == "Role" {
		namespace, have = o.Object.GetNamespace(), c.have.Roles
	}
	full := infra.NamespacedName(namespace, name)
	if have[full] || observe.Makes(c.expectation, kind, namespace, name) {
		return
	}
	r.name, r.text, r.then = name, fmt.Sprintf("gives %s %s, which does not exist", kind, full), "its subjects are allowed nothing"
	c.warn(r)
}
