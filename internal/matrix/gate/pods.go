package gate

import (
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/look"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/result"
)

// noPods: the workloads are what the bundle says, and that is no pod at all.
func (g *Gate) noPods() *result.Failure {
	f := result.Finding{Cause: "no pod was verified: everything is delivered, and none of the workloads has a pod"}
	for i := range g.Env.Bundle.Expectation.Workloads {
		w := &g.Env.Bundle.Expectation.Workloads[i]
		line := fmt.Sprintf("%s (%s): ", look.WorkloadKey(w.Kind, w.Namespace, w.Name), w.Component)
		switch {
		case w.Kind == "CronJob":
			line += "creates pods on its schedule"
		case w.Ephemeral:
			line += "a hook that has been deleted"
		case w.Replicas == 0:
			line += "0 pods wanted"
		default:
			line += "no node in this cluster matches it"
		}
		f.Story = append(f.Story, line)
		f.Others = append(f.Others, look.WorkloadRef(w.Kind, w.Namespace, w.Name))
	}
	return result.NewFailure(f)
}

// podsTimedOut: everything is delivered, and pods are missing.
func (g *Gate) podsTimedOut(budget time.Duration) *result.Failure {
	waiting := g.lastLook.Waiting
	if len(g.lastLook.Pending) > 0 {
		f := why.SchedulingFinding(g.lastLook, why.WorldOf(g.View))
		f.More = g.lastLook.WaitingTexts()
		return f
	}
	f := result.Finding{Cause: fmt.Sprintf("pods did not reach the expected state within %s", budget), Story: g.lastLook.WaitingTexts()}
	if g.lastLook.Pods == 0 {
		f.Cause += ": no pod was verified"
	}
	for i, late := range waiting {
		ref := look.WorkloadRef(late.Workload.Kind, late.Workload.Namespace, late.Workload.Name)
		if i > 0 {
			f.Others = append(f.Others, ref)
			continue
		}
		f.Cause += ": " + late.String()
		f.Object, f.Component = &ref, late.Workload.Component
	}
	return result.NewFailure(f)
}
