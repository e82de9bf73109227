package why

import "github.com/nvidia/aicr-action/internal/bundle"

// AdmitsTemplate reports whether some node admits the pod template of a workload, as if there were
// no other pods: it uses the world's nodes and not its pods.
func AdmitsTemplate(w *bundle.Workload, world *World) bool {
	e := explainTemplate(w, world)
	return !e.Refused()
}
