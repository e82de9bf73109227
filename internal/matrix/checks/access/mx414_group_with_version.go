package access

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var groupWithVersion = judge.Check{
	ID: "MX414", Name: "rule-for-a-group-with-version", Needs: judge.Rendered, Kinds: judge.KindsOf(rbacv1.GroupName, "Role", "ClusterRole"),
	Title: "The rules of a role name API groups without a version",
	Why: "RBAC compares apiGroups with the group of a request, which has no version (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources). " +
		"apps/v1 is the group apps, and v1 is the group \"\".",
	Fix:  "Remove the version.",
	Says: "has a rule for API group %s; groups have no version, and this one is \"%s\"", Then: "the rule allows nothing",
	Run: func(s *judge.Scope) {
		eachRule(s, func(o *bundle.Object, r int, rule *rbacv1.PolicyRule) {
			i := slices.IndexFunc(rule.APIGroups, func(g string) bool { return g == "v1" || strings.Contains(g, "/") })
			if i < 0 {
				return
			}
			group, _, ok := strings.Cut(rule.APIGroups[i], "/")
			if !ok {
				group = ""
			}
			s.Report(o, fmt.Sprintf("rules[%d].apiGroups[%d]", r, i), rule.APIGroups[i], group)
		}, "Role", "ClusterRole")
	},
}
