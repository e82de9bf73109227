package delivery

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var hooksOnly = judge.Check{
	ID: "MX518", Name: "application-of-hooks-only", Needs: judge.Rendered, First: true, Gives: reason.DeployFailed,
	Lanes: func(o judge.Order) bool { return o.ArgoCD && !o.AtOnce },
	Title: "An Application has an object that is no hook",
	Why:   "Argo CD compares no hooks, so that an Application of hooks alone has no difference and is never synced (https://github.com/argoproj/argo-cd/issues/22694).",
	Fix:   "Make one an ordinary object, or add one.",
	Says:  "is a hook, and release %s has nothing else (objects: %d)",
	Then:  "Argo CD never syncs an Application of hooks only, since it compares none of them (argo-cd 22694): make one an ordinary object, or add one",
	Run: func(s *judge.Scope) {
		for _, r := range s.Expectation.Releases {
			var first *bundle.Object
			objects, hooks := 0, 0
			for _, o := range s.Rendered() {
				if o.Release != r.Name {
					continue
				}
				objects++
				if !lane.IsArgoHook(o.Object) {
					break
				}
				if hooks++; first == nil {
					first = o
				}
			}
			if hooks > 0 && hooks == objects {
				s.Report(first, "metadata.annotations", r.Name, objects)
			}
		}
	},
}
