package access

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var roleMissing = judge.Check{
	ID: "MX417", Name: "binding-of-no-role", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf(rbacv1.GroupName, "RoleBinding", "ClusterRoleBinding"),
	Title: "The role of a binding exists",
	Why:   "A binding may name a role that does not exist; until it does, its subjects are allowed nothing (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#rolebinding-and-clusterrolebinding).",
	Fix:   "Add the role, or correct its name or kind.",
	Says:  "gives %s %s, which does not exist", Then: "its subjects are allowed nothing",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(rbacv1.GroupName, "RoleBinding", "ClusterRoleBinding")...) {
			kind, _, _ := unstructured.NestedString(o.Object.Object, "roleRef", "kind")
			name, _, _ := unstructured.NestedString(o.Object.Object, "roleRef", "name")
			namespace := ""
			if kind == "Role" {
				namespace = o.Object.GetNamespace()
			}
			ref := result.Ref{Group: rbacv1.GroupName, Kind: kind, Namespace: namespace, Name: name}
			if s.Find(judge.KindsOf(rbacv1.GroupName, kind)[0], namespace, name) == nil && s.Lacks(ref, o.Ref()) {
				s.Report(o, "roleRef.name", kind, infra.NamespacedName(namespace, name))
			}
		}
	},
}
