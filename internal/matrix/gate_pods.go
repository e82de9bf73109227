package matrix

import "fmt"

// noPods: the workloads are what the bundle says, and that is no pod at all.
func (g *gate) noPods() *finding {
	f := &finding{cause: "no pod was verified: everything is delivered, and none of the workloads has a pod"}
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
		f.details = append(f.details, line)
	}
	return f
}
