package everyday

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// isolated warns of a NetworkPolicy that closes pods which no other one opens: towards those that a
// Service leads to, or from those that may ask the API server. Nothing in a simulated cluster filters
// packets.
func (f *finder) isolated(o *bundle.Object) {
	var p networkingv1.NetworkPolicy
	if !problem.Read(o, &p) {
		return
	}
	closesIn, closesOut := closes(&p)
	if !closesIn && !closesOut {
		return
	}
	for i := range f.e.Objects {
		w := &f.e.Objects[i]
		template := problem.Template(w)
		if template == nil || w.Object.GetNamespace() != p.Namespace || !chosen(&p, template.Labels) {
			continue
		}
		pods := labels.Set(template.Labels)
		in, out := f.opened(p.Namespace, pods)
		if service := f.serviceFor(p.Namespace, pods); closesIn && !in && service != "" && !f.calledFromOutside(p.Namespace, pods) {
			found := problem.Of(o)
			found.Name, found.Text = "podSelector", fmt.Sprintf("lets nothing reach the pods of %s, to which Service %s leads, and no other NetworkPolicy does", w.Ref(), service)
			found.Then = "where the cluster's network enforces policies, the Service answers nobody"
			f.found = append(f.found, found)
			return
		}
		if role := f.roleOf(w); closesOut && !out && role != "" {
			found := problem.Of(o)
			found.Name, found.Text = "podSelector", fmt.Sprintf("lets the pods of %s reach nothing, and no other NetworkPolicy does; their ServiceAccount has %s", w.Ref(), role)
			found.Then = "where the cluster's network enforces policies, they reach neither DNS nor the API server"
			f.found = append(f.found, found)
			return
		}
	}
}

// closes reports in which directions a policy allows nothing. Without policyTypes one is for what comes
// in, and for what goes out if it has rules for that.
func closes(p *networkingv1.NetworkPolicy) (in, out bool) {
	has := func(t networkingv1.PolicyType) bool { return slices.Contains(p.Spec.PolicyTypes, t) }
	in = len(p.Spec.Ingress) == 0 && (len(p.Spec.PolicyTypes) == 0 || has(networkingv1.PolicyTypeIngress))
	return in, len(p.Spec.Egress) == 0 && has(networkingv1.PolicyTypeEgress)
}

func chosen(p *networkingv1.NetworkPolicy, pods labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	return err == nil && s.Matches(pods)
}

// opened reports in which directions some policy of the bundle allows something to pods. What another kind
// of policy allows, e.g. one of Cilium's, is not known: then both are taken for open.
func (f *finder) opened(namespace string, pods labels.Set) (in, out bool) {
	for i := range f.e.Objects {
		o := &f.e.Objects[i]
		gvk := o.Object.GroupVersionKind()
		if gvk.Kind != "NetworkPolicy" || gvk.Group != networkingv1.GroupName {
			if gvk.Kind == "NetworkPolicy" || gvk.Kind == "CiliumNetworkPolicy" || gvk.Kind == "CiliumClusterwideNetworkPolicy" || gvk.Kind == "GlobalNetworkPolicy" {
				return true, true
			}
			continue
		}
		var p networkingv1.NetworkPolicy
		if problem.Read(o, &p) && p.Namespace == namespace && chosen(&p, pods) {
			in, out = in || len(p.Spec.Ingress) > 0, out || len(p.Spec.Egress) > 0
		}
	}
	return in, out
}

// serviceFor is a Service that leads to pods; empty without one.
func (f *finder) serviceFor(namespace string, pods labels.Set) string {
	for i := range f.have.Services {
		if s := &f.have.Services[i]; s.Namespace == namespace && len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(pods) {
			return infra.NamespacedName(namespace, s.Name)
		}
	}
	return ""
}

// calledFromOutside reports whether a Service that leads to pods is called by what is no pod: shutOut says that.
func (f *finder) calledFromOutside(namespace string, pods labels.Set) bool {
	return slices.ContainsFunc(f.e.Objects, func(o bundle.Object) bool {
		return slices.ContainsFunc(f.calls(&o), func(c call) bool {
			return c.namespace == namespace && slices.ContainsFunc(f.have.Services, func(s corev1.Service) bool {
				return s.Namespace == namespace && s.Name == c.service && len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(pods)
			})
		})
	})
}
