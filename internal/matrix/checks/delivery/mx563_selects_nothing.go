package delivery

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var selectsNothing = judge.Check{
	ID: "MX563", Name: "kustomize-selects-nothing", Needs: judge.Rendered,
	Title: "A patch of Kustomize selects an object",
	Why: "Kustomize applies a patch with a target to each object that the target selects, and says nothing if there is none; the same holds for an entry of images " +
		"(https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/). So it does for the patches of Flux and of Argo CD. What the patch sets is then set nowhere. A note where the target names no single object, since a shared component may be meant for what is there, and for images.",
	Fix:  "Correct the target, or leave the patch out.",
	Says: "has a patch whose target (%[1]s) selects no object%[2]s", Then: "Kustomize says nothing, and what the patch sets is set nowhere: correct the target, or leave the patch out",
	Others: map[string]judge.Message{"images": {
		Says: "sets %[1]s, which no object has%[2]s", Then: "Kustomize says nothing, and no image changes: correct the name, or leave the entry out",
	}},
	Run: func(s *judge.Scope) {
		for _, d := range s.Expectation.Idle {
			message, near := "", ""
			if d.Field == "images" {
				message = "images"
			}
			if d.Near != "" {
				near = "; the nearest is " + d.Near
			}
			found := s.ReportAs(message, s.Named(d.Of), "", d.Selects, near).At(result.Place{File: d.At.File, Line: d.At.Line}).SetBy("").OneCause(d.At.String() + d.Selects)
			if !d.Named {
				found.Note()
			}
		}
	},
}
