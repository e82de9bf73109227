package everyday

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// tokenless warns of pods whose ServiceAccount may do something, and that get no token of it.
func (f *finder) tokenless(o *bundle.Object) {
	template := problem.Template(o)
	if template == nil || hasToken(&template.Spec) {
		return
	}
	pod := &template.Spec
	name, where := "automountServiceAccountToken", "their template"
	switch {
	case pod.AutomountServiceAccountToken != nil && *pod.AutomountServiceAccountToken:
		return
	case pod.AutomountServiceAccountToken == nil:
		account := f.accountOf(o.Object.GetNamespace(), pod.ServiceAccountName)
		if account == nil || account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
			return
		}
		where = "the ServiceAccount"
	}
	role := f.roleOf(o)
	if role == "" {
		return
	}
	p := problem.Of(o)
	p.Name, p.Text = name, fmt.Sprintf("has ServiceAccount %s, which has %s, and its pods get no token (%s: false in %s)", pod.ServiceAccountName, role, name, where)
	p.Then = "its programs cannot ask the API server"
	f.found = append(f.found, p)
}

// hasToken reports whether a pod brings a token in a volume of its own.
func hasToken(pod *corev1.PodSpec) bool {
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			return true // one may hold a token, or a kubeconfig
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil || s.Secret != nil {
				return true
			}
		}
	}
	return false
}

func (f *finder) accountOf(namespace, name string) *corev1.ServiceAccount {
	for i := range f.e.Objects {
		o := &f.e.Objects[i]
		var a corev1.ServiceAccount
		if o.Object.GetKind() == rbacv1.ServiceAccountKind && o.Object.GetNamespace() == namespace && o.Object.GetName() == name && problem.Read(o, &a) {
			return &a
		}
	}
	return nil
}

// roleOf is a role that a binding of the bundle gives to the ServiceAccount of a workload's pods; empty
// without one.
func (f *finder) roleOf(o *bundle.Object) string {
	template := problem.Template(o)
	if template == nil || template.Spec.ServiceAccountName == "" {
		return ""
	}
	for i := range f.e.Objects {
		var b rbacv1.RoleBinding // which a ClusterRoleBinding looks like
		other := &f.e.Objects[i]
		if kind := other.Object.GetKind(); kind != "RoleBinding" && kind != "ClusterRoleBinding" || !problem.Read(other, &b) {
			continue
		}
		for _, s := range b.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Name == template.Spec.ServiceAccountName && cmp.Or(s.Namespace, other.Object.GetNamespace()) == o.Object.GetNamespace() {
				return b.RoleRef.Kind + " " + b.RoleRef.Name
			}
		}
	}
	return ""
}
