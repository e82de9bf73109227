package delivery

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var notAHook = judge.Check{
	ID: "MX554", Name: "argocd-hook-of-no-phase", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Title: "The annotation argocd.argoproj.io/hook is one of Argo CD's phases",
	Why: "Argo CD takes any object with the annotation for a hook, and runs it in the phases that it names. One that names none is never applied, and its Application is Synced and Healthy without it " +
		"(https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/). A note in the lanes of other deployers.",
	Fix:  "Write one of the phases, or remove the annotation.",
	Says: "has " + rendering.ArgoHook + ": %q, which is none of %s, so that Argo CD never applies it", Then: "Argo CD takes it for a hook, and runs it in no phase: write one of these, or remove the annotation",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			if text, ok := noHook(o.Object.GetAnnotations()); ok {
				if found := s.Report(o, `metadata.annotations["`+rendering.ArgoHook+`"]`, text, strings.Join(rendering.ArgoPhases(), ", ")).SetBy(rendering.ArgoHook).OneCause(o.Ref().String()); !s.Order.ArgoCD {
					found.Note() // for the day on which another lane delivers it
				}
			}
		}
	},
}

// noHook returns the value of an annotation that makes a hook of an object, and that is no phase in
// which it would run. Without one of its own, Argo CD takes Helm's.
func noHook(annotations map[string]string) (text string, ok bool) {
	text, ok = annotations[rendering.ArgoHook]
	own, _ := rendering.ArgoHooks(annotations)
	return text, ok && !own && annotations[rendering.HelmHook] == ""
}
