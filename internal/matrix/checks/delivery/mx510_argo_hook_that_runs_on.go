package delivery

import (
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

var argoHookThatRunsOn = judge.Check{
	ID: "MX510", Name: "workload-is-argocd-hook", Needs: judge.Rendered, Kinds: judge.KindsOf("apps", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"),
	Title: "A workload that runs on is no hook of Argo CD",
	Why: "An object with argocd.argoproj.io/hook is no part of the Application: Argo CD applies it in a phase of a sync and, by default, deletes the one before " +
		"(https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/#how-phases-work). Helm and Flux do not know the annotation.",
	Fix:  "Remove the annotation, or use a Job; argocd.argoproj.io/sync-wave orders ordinary objects.",
	Says: "has " + rendering.ArgoHook + ": %s, and is an ordinary object to Helm and Flux", Then: "Argo CD deletes it at each sync and creates it again, by default, and does not miss it in between",
	Others: map[string]judge.Message{"fails": {Says: "has " + rendering.ArgoHook + ": %s, and is an ordinary object to Helm and Flux", Then: "Argo CD does not create it when a sync succeeds"}},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("apps", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")...) {
			own, runs := rendering.ArgoHooks(o.Object.GetAnnotations())
			phase := o.Object.GetAnnotations()[rendering.ArgoHook]
			if !own || phase == "Skip" || problem.Selector(o, "spec", "selector") == nil {
				continue // what is left out on purpose is no hook
			}
			message := ""
			if !runs {
				message = "fails"
			}
			s.ReportAs(message, o, `metadata.annotations["`+rendering.ArgoHook+`"]`, phase).SetBy(rendering.ArgoHook)
		}
	},
}
