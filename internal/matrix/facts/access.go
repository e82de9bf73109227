package facts

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

// Account is the ServiceAccount of that name; nil if nothing rendered is.
func (x *Index) Account(namespace, name string) *corev1.ServiceAccount {
	o := x.Find(schema.GroupKind{Kind: rbacv1.ServiceAccountKind}, namespace, name)
	if o == nil {
		return nil
	}
	return As[corev1.ServiceAccount](x, o)
}

// RoleOf is a role that a binding of the bundle gives to the ServiceAccount of a workload's pods, as kind and name;
// empty without one, or without a ServiceAccount.
func (x *Index) RoleOf(p PodTemplate) string {
	account, namespace := p.Template.Spec.ServiceAccountName, p.Object.Object.GetNamespace()
	if account == "" {
		return ""
	}
	for _, o := range x.Rendered(bindings...) {
		b := As[rbacv1.RoleBinding](x, o) // which a ClusterRoleBinding looks like
		if b == nil {
			continue
		}
		for _, s := range b.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Name == account && cmp.Or(s.Namespace, o.Object.GetNamespace()) == namespace {
				return b.RoleRef.Kind + " " + b.RoleRef.Name
			}
		}
	}
	return ""
}

var bindings = []schema.GroupKind{{Group: rbacv1.GroupName, Kind: "RoleBinding"}, {Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}}

var roles = []schema.GroupKind{{Group: rbacv1.GroupName, Kind: "Role"}, {Group: rbacv1.GroupName, Kind: "ClusterRole"}}

// allows reports whether a rule of a role allows one of these.
func allows(rule rbacv1.PolicyRule, what schema.GroupResource, verbs ...string) bool {
	return problem.Covers(rule.APIGroups, what.Group) && problem.Covers(rule.Resources, what.Resource) &&
		slices.ContainsFunc(verbs, func(v string) bool { return problem.Covers(rule.Verbs, v) })
}
