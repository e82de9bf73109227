package access

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var ruleResource = judge.Check{
	ID: "MX418", Name: "rule-for-no-resource", Needs: judge.Rendered, Kinds: judge.KindsOf(rbacv1.GroupName, "Role", "ClusterRole"),
	Title: "The rules of a role name resources as the API server does",
	Why:   "A rule's resources are plurals in small letters (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources). The API server takes any word, and one of another spelling permits nothing. No simulated pod asks for anything.",
	Fix:   "Write the resource's name, e.g. pods.",
	Says:  "permits %s, which is no resource; its name is %s", Then: "the API server refuses its subjects what the rule was to permit",
	Run: func(s *judge.Scope) {
		eachRule(s, func(o *bundle.Object, i int, rule *rbacv1.PolicyRule) {
			for j, resource := range rule.Resources {
				if right := facts.Misspelled(rule.APIGroups, resource); right != "" {
					s.Report(o, fmt.Sprintf("rules[%d].resources[%d]", i, j), resource, right)
				}
			}
		}, "Role", "ClusterRole")
	},
}
