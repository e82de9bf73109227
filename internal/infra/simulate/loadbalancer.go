package simulate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// noLoadBalancer is what a profile has where no cloud gives a Service of type LoadBalancer an address.
const noLoadBalancer = "none"

// loadBalancerAnnotation says of a simulated node that its provider gives no addresses: noLoadBalancer, or assumed where the
// cell has them nevertheless.
const (
	loadBalancerAnnotation = "aicr.nvidia.com/load-balancer"
	assumed                = "assumed"
)

// LacksLoadBalancer reports whether nothing gives a Service of type LoadBalancer an address on a cluster with these nodes, unless
// somebody has installed something for that. assumes means that somebody is taken to have done so.
func LacksLoadBalancer(nodes []corev1.Node) (lacks, assumes bool) {
	for i := range nodes {
		switch nodes[i].Annotations[loadBalancerAnnotation] {
		case noLoadBalancer:
			return true, false
		case assumed:
			assumes = true
		}
	}
	return assumes, assumes
}

// AssumeLoadBalancer gives profiles load balancers where the provider has none. What is run does not say which cluster it is for,
// or leaves that to the cluster, whose owner may have installed one.
func AssumeLoadBalancer(profiles []Profile) []Profile {
	profiles = slices.Clone(profiles)
	for i := range profiles {
		if s := &profiles[i].Spec; s.LoadBalancer == noLoadBalancer {
			s.LoadBalancer = assumed
		}
	}
	return profiles
}

// HaveLoadBalancer gives profiles load balancers: the cluster is known to have something for that.
func HaveLoadBalancer(profiles []Profile) []Profile {
	profiles = slices.Clone(profiles)
	for i := range profiles {
		profiles[i].Spec.LoadBalancer = ""
	}
	return profiles
}

// addressGroups are the API groups of programs that give Services addresses.
var addressGroups = []string{"metallb.io", "purelb.io", "network.kubesphere.io"}

// ServesLoadBalancers reports whether an object is of a program that gives Services addresses: it is one of its own kinds, or a
// right to write the status of Services, without which no such program works.
func ServesLoadBalancers(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	if slices.Contains(addressGroups, gvk.Group) || gvk.Kind == "CiliumLoadBalancerIPPool" {
		return true
	}
	if gvk.Group != rbacv1.GroupName || gvk.Kind != "ClusterRole" && gvk.Kind != "Role" {
		return false
	}
	var role rbacv1.ClusterRole
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role) != nil {
		return false
	}
	return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		any := func(list []string, of ...string) bool {
			return slices.ContainsFunc(list, func(one string) bool { return slices.Contains(of, one) })
		}
		return any(r.APIGroups, "", "*") && any(r.Resources, "services/status", "*/status", "*") && any(r.Verbs, "update", "patch", "*")
	})
}
