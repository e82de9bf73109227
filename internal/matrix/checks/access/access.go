// Package access has the checks of accounts, tokens, roles and their bindings.
package access

import "github.com/nvidia/aicr-action/internal/matrix/judge"

// Checks lists them.
func Checks() []judge.Check {
	return []judge.Check{noToken, accountPullSecret, defaultAccount, aggregatedOfNone, groupWithVersion, subjectElsewhere, tokenOfNobody, roleMissing, ruleResource, podSecurityLabel, policyMissing, verbInCapitals, roleOfCluster}
}
