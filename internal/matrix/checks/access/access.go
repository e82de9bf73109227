// Package access has the checks of accounts, tokens, roles and their bindings.
package access

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// Checks lists them.
func Checks() []judge.Check {
	return []judge.Check{noToken, accountPullSecret, defaultAccount, aggregatedOfNone, groupWithVersion, subjectElsewhere, tokenOfNobody, roleMissing, ruleResource, podSecurityLabel, policyMissing, verbInCapitals, roleOfCluster}
}

// eachRule gives the rules of the roles of these kinds, with their numbers.
func eachRule(s *judge.Scope, see func(o *bundle.Object, i int, rule *rbacv1.PolicyRule), kinds ...string) {
	for _, o := range s.Rendered(judge.KindsOf(rbacv1.GroupName, kinds...)...) {
		role := facts.As[rbacv1.Role](s.Index, o) // which a ClusterRole looks like
		if role == nil {
			continue
		}
		for i := range role.Rules {
			see(o, i, &role.Rules[i])
		}
	}
}
