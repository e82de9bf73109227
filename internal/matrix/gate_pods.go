package matrix

import (
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// noPods: the workloads are what the bundle says, and that is no pod at all.
func (g *gate) noPods() *finding {
	f := result.Finding{Cause: "no pod was verified: everything is delivered, and none of the workloads has a pod"}
	for i := range g.env.Bundle.Expectation.Workloads {
		w := &g.env.Bundle.Expectation.Workloads[i]
		line := fmt.Sprintf("%s (%s): ", workloadKey(w.Kind, w.Namespace, w.Name), w.Component)
		switch {
		case w.Kind == "CronJob":
			line += "makes pods when its time comes"
		case w.Ephemeral:
			line += "a hook that is gone"
		case w.Replicas == 0:
			line += "0 pods wanted"
		default:
			line += "no node of this cluster is for it"
		}
		f.Story = append(f.Story, line)
		f.Others = append(f.Others, workloadRef(w.Kind, w.Namespace, w.Name))
	}
	return oneFinding(f)
}

// podsTimedOut: everything is delivered, and pods are missing.
func (g *gate) podsTimedOut(budget time.Duration) *finding {
	waiting := g.lastLook.waiting
	if len(g.lastLook.pending) > 0 {
		f := schedulingFinding(g.lastLook, worldOf(g.lastSnap))
		f.more = g.lastLook.waitingTexts()
		return f
	}
	f := result.Finding{Cause: fmt.Sprintf("pods not as they should be after %s", budget), Story: g.lastLook.waitingTexts()}
	if g.lastLook.pods == 0 {
		f.Cause += ": no pod was verified"
	}
	for i, late := range waiting {
		ref := workloadRef(late.workload.Kind, late.workload.Namespace, late.workload.Name)
		if i > 0 {
			f.Others = append(f.Others, ref)
			continue
		}
		f.Cause += ": " + late.String()
		f.Object, f.Component = &ref, late.workload.Component
	}
	return oneFinding(f)
}
