package access

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var noToken = judge.Check{
	ID: "MX410", Name: "role-without-token", Needs: judge.Rendered, Kinds: judge.KindsOf(rbacv1.GroupName, "RoleBinding", "ClusterRoleBinding"),
	Title: "Pods whose ServiceAccount has a role get its token",
	Why: "With automountServiceAccountToken: false in the pod template, or else in the ServiceAccount, a pod has no token of its account " +
		"(https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#opt-out-of-api-credential-automounting), so that its programs are nobody to the API server.",
	Fix:  "Leave automountServiceAccountToken out, mount a token by a projected volume, or remove the binding.",
	Says: "has ServiceAccount %s, which has %s, and its pods get no token (automountServiceAccountToken: false in %s)", Then: "its programs cannot ask the API server",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			pod := &p.Template.Spec
			if s.IsMade(p.Object) || bringsToken(pod) {
				continue
			}
			where := "their template"
			if pod.AutomountServiceAccountToken == nil {
				account := s.Account(p.Object.Object.GetNamespace(), pod.ServiceAccountName)
				if account == nil || account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
					continue
				}
				where = "the ServiceAccount"
			} else if *pod.AutomountServiceAccountToken {
				continue
			}
			if role := s.RoleOf(p); role != "" {
				s.Report(p.Object, p.Path()+".automountServiceAccountToken", pod.ServiceAccountName, role, where).SetBy("automountServiceAccountToken")
			}
		}
	},
}

// bringsToken reports whether a pod has a token in a volume of its own. A Secret may hold one, or a kubeconfig.
func bringsToken(pod *corev1.PodSpec) bool {
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			return true
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
