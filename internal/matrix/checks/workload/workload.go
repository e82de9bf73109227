// Package workload has the checks of pods and of what makes them.
package workload

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// Checks lists them.
func Checks() []judge.Check {
	return []judge.Check{
		roomForPods,
		variableNotDefined, jobDeadline, minReadySeconds, selectorOfTwo, startingDeadline, secondDefaultPriority,
		autoscalerTarget, autoscalerOff, autoscalerBounds, autoscalerMetric, scheduleNever, pullSecret, apartByNoLabel, spreadOfOthers, deviceRequest,
		scaledTwice, twoBudgets, budgetOfNone, listKeyTwice, otherSystem, nodeOfTemplate, readinessGate, podAdopted,
		imageName, rootRefused, probePort, neverPulled, capability, insideProc, preparedNode, resourceField, pathOfVariable,
		memoryLimit, preStop, hostName, keyMissing, partOfNoItem, needMissing, pullSecretMissing, pullSecretUnreadable, schedulerOfNobody, nameMissing, templateWithoutNode,
		nodeName, criticalPods, autoscalerOfNothing, deviceClaimMissing, deviceClassMissing, publishedDevices, writtenByAgent, handlerUnknown,
		autoscalerAPI, surgeWithHostPort, programWithSpaces, shellIgnores, dockerSocket, mountHides, quantityWithoutUnit,
	}
}
