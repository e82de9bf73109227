// Package delivery has the checks of what deployers read and wait for: hooks, waves, owners, versions.
package delivery

import "github.com/nvidia/aicr-action/internal/matrix/judge"

// Checks lists them.
func Checks() []judge.Check {
	return []judge.Check{
		resourcePolicy, hookPolicy, digestInLabel, digestInSelector, notAHook, excludedKind, notAppliedFromCRDs,
		quotaOfObjects, operatorAfterResource, healthCheck, kubeVersion, comparedVersion, comparedBeforeItsKind,
		argoHookThatRunsOn, orderIsNoNumber, exported, foreignFinalizer, jobComesAgain,
		ownerGone, requestOnly, refusedByDeployer, hooksOnly, releaseTwice, hookFinalizer, hookPod, readyTooLate, neededTooEarly,
		argoHookElsewhere, builtIn, noBase64, podIsTask, selectsNothing, versionNotServed,
	}
}
