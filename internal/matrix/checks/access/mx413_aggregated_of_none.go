package access

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var aggregatedOfNone = judge.Check{
	ID: "MX413", Name: "aggregated-role-of-none", Needs: judge.Rendered, Kinds: judge.KindsOf(rbacv1.GroupName, "ClusterRole"),
	Title: "A ClusterRole that is made of others has one of them",
	Why: "A controller fills a ClusterRole with an aggregationRule from the roles that have the labels (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles). " +
		"Without such a role it has no rules. Labels of Kubernetes' own roles count as there.",
	Fix:  "Correct the labels, of the selector or of the roles that are meant.",
	Says: "is made of ClusterRoles by their labels (aggregationRule), and the recipe has none of these", Then: "it allows nothing until something else installs one",
	Run: func(s *judge.Scope) {
		roles := s.Rendered(judge.KindsOf(rbacv1.GroupName, "ClusterRole")...)
		for _, o := range roles {
			role := facts.As[rbacv1.ClusterRole](s.Index, o)
			if role == nil || role.AggregationRule == nil || len(role.AggregationRule.ClusterRoleSelectors) == 0 {
				continue
			}
			if !slices.ContainsFunc(role.AggregationRule.ClusterRoleSelectors, func(l metav1.LabelSelector) bool { return takes(&l, o, roles) }) {
				s.Report(o, "aggregationRule.clusterRoleSelectors").SetBy("clusterRoleSelectors")
			}
		}
	},
}

// takes reports whether a selector takes a role of the bundle besides its own, or may take one of Kubernetes' own.
func takes(l *metav1.LabelSelector, own *bundle.Object, roles []*bundle.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(l)
	if err != nil || selector.Empty() || selector.Matches(labels.Set{"kubernetes.io/bootstrapping": "rbac-defaults"}) {
		return true
	}
	for key := range l.MatchLabels {
		if strings.HasPrefix(key, "rbac.authorization.k8s.io/") {
			return true
		}
	}
	return slices.ContainsFunc(roles, func(other *bundle.Object) bool {
		return other != own && selector.Matches(labels.Set(other.Object.GetLabels()))
	})
}
