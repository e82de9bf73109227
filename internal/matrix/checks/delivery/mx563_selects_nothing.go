package delivery

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var selectsNothing = judge.Check{
	ID: "MX563", Name: "selects-nothing", Needs: judge.Rendered,
	Title: "A patch, and what else names an object to change, selects one",
	Why: "Kustomize applies a patch with a target to each object that the target selects, and says nothing if there is none; the same holds for an entry of images " +
		"(https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/). So it does for the patches of Flux and of Argo CD, and so does Argo CD for an entry of spec.ignoreDifferences with a name. What is set is then set nowhere. A note where the target names no single object, since a shared component may be meant for what is there, and for images.",
	Fix:  "Correct the target, the name or the entry, or leave it out.",
	Says: "has a patch whose target (%[1]s) selects no object%[2]s", Then: "Kustomize says nothing, and what the patch sets is set nowhere: correct the target, or leave the patch out",
	Others: map[string]judge.Message{"ignoreDifferences": {
		Says: "ignores differences of %[1]s (spec.ignoreDifferences), which it does not have%[2]s", Then: "Argo CD says nothing, and ignores none: it shows the difference, and reverts it with selfHeal; correct the entry, or leave it out",
	}, "replacements": {
		Says: "has a replacement with a target (%[1]s) that selects no object%[2]s", Then: "Kustomize says nothing, and the value is set nowhere: correct the target, or leave it out",
	}, "images": {
		Says: "sets %[1]s, which no object has%[2]s", Then: "Kustomize says nothing, and no image changes: correct the name, or leave the entry out",
	}},
	Run: func(s *judge.Scope) {
		for _, d := range s.Expectation.Idle {
			message, near := "", ""
			if d.Field != "patches" {
				message = d.Field
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
