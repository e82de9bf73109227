package everyday

import (
	"fmt"
	"strconv"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// phased warns of a workload that runs on, and that Argo CD takes for a hook of its own: it is not
// part of the Application then, and the other deployers take it for an ordinary object.
func (f *finder) phased(o *bundle.Object) {
	own, runs := rendering.ArgoHooks(o.Object.GetAnnotations())
	if !own || selectorOf(o) == nil || o.Object.GetAnnotations()[rendering.ArgoHook] == "Skip" {
		return // what is left out on purpose is no hook
	}
	p := problem.Of(o)
	p.Name, p.Text = rendering.ArgoHook, fmt.Sprintf("has %s: %s, and is an ordinary object to Helm and Flux", rendering.ArgoHook, o.Object.GetAnnotations()[rendering.ArgoHook])
	p.Then = "Argo CD deletes it at each sync and creates it again, by default, and does not miss it in between"
	if !runs {
		p.Then = "Argo CD does not create it when a sync succeeds"
	}
	f.found = append(f.found, p)
}

// wave is Argo CD's annotation for the order of objects.
const wave = "argocd.argoproj.io/sync-wave"

// weight warns of an order that is no number, which Helm and Argo CD take for 0 without a word.
func (f *finder) weight(o *bundle.Object) {
	for _, a := range []struct{ name, by string }{{rendering.HelmHookWeight, "Helm"}, {wave, "Argo CD"}} {
		value, ok := o.Object.GetAnnotations()[a.name]
		if _, err := strconv.Atoi(value); !ok || err == nil {
			continue
		}
		p := problem.Of(o)
		p.Name, p.Text = a.name, fmt.Sprintf("has %s: %q, which is no number", a.name, value)
		p.Then = a.by + " takes it for 0"
		f.found = append(f.found, p)
	}
}
