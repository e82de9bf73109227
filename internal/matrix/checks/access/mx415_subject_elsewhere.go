package access

import (
	"cmp"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var subjectElsewhere = judge.Check{
	ID: "MX415", Name: "subject-in-another-namespace", Needs: judge.Rendered, Until: judge.Settled, Kinds: judge.KindsOf(rbacv1.GroupName, "RoleBinding", "ClusterRoleBinding"),
	Title: "A binding is for a ServiceAccount that exists",
	Why: "RBAC does not look whether a subject exists (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects). " +
		"Where the release has an account of that name in another namespace, that one is probably meant.",
	Fix:  "Correct the namespace of the subject.",
	Says: "is for ServiceAccount %s, which does not exist; there is %s", Then: "that one is allowed nothing by it",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(rbacv1.GroupName, "RoleBinding", "ClusterRoleBinding")...) {
			b := facts.As[rbacv1.RoleBinding](s.Index, o) // which a ClusterRoleBinding looks like
			if b == nil {
				continue
			}
			for i, subject := range b.Subjects {
				namespace := cmp.Or(subject.Namespace, o.Object.GetNamespace()) // a RoleBinding's own, where it names none
				full := infra.NamespacedName(namespace, subject.Name)
				if subject.Kind != rbacv1.ServiceAccountKind || subject.Name == "default" || s.Find(judge.KindsOf("", subject.Kind)[0], namespace, subject.Name) != nil ||
					!s.Lacks(result.Ref{Kind: subject.Kind, Namespace: namespace, Name: subject.Name}, o.Ref()) {
					continue
				}
				for _, other := range s.Rendered(judge.KindsOf("", rbacv1.ServiceAccountKind)...) {
					if other.Release == o.Release && other.Object.GetName() == subject.Name {
						s.Report(o, fmt.Sprintf("subjects[%d].namespace", i), full, infra.NamespacedName(other.Object.GetNamespace(), subject.Name)).SetBy(namespace)
						break
					}
				}
			}
		}
	},
}
