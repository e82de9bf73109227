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
		scaledTwice, twoBudgets, budgetOfNone, twiceInTemplate, otherSystem, nodeOfTemplate, readinessGate, podAdopted,
	}
}
