package access

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var verbInCapitals = judge.Check{
	ID: "MX421", Name: "verb-in-capitals", Needs: judge.Rendered, Kinds: judge.KindsOf(rbacv1.GroupName, "Role", "ClusterRole"),
	Title: "The verbs of a role are in small letters",
	Why:   "The API server compares a request's verb with those of the rules letter by letter, and its own are in small letters (https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb). It takes any word in a rule.",
	Fix:   "Write the verb in small letters.",
	Says:  "has the verb %s in a rule, and no request has that verb; it is %s", Then: "the API server refuses its subjects what the rule was to permit",
	Run: func(s *judge.Scope) {
		eachRule(s, func(o *bundle.Object, i int, rule *rbacv1.PolicyRule) {
			for j, verb := range rule.Verbs {
				if small := strings.ToLower(verb); small != verb {
					s.Report(o, fmt.Sprintf("rules[%d].verbs[%d]", i, j), verb, small)
				}
			}
		}, "Role", "ClusterRole")
	},
}
