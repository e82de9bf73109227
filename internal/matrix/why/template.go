package why

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
)

// AdmitsTemplate reports whether some node admits the pod template of a workload, as if there were
// no other pods: it uses the view's nodes and not its pods.
func AdmitsTemplate(w *bundle.Workload, view *observe.View) bool {
	e := explainTemplate(w, view)
	return !e.Refused()
}
