package why

import "github.com/nvidia/aicr-action/internal/bundle"

// AdmitsTemplate reports whether some node admits the pod template of a workload, as if no other
// pod were there. World's nodes count, its pods do not.
func AdmitsTemplate(w *bundle.Workload, world *World) bool {
	e := explainTemplate(w, world)
	return !e.Refused()
}
