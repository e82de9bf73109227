package delivery

import (
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var resourcePolicy = judge.Check{
	ID: "MX550", Name: "resource-policy-not-keep", Needs: judge.Rendered,
	Title: "The annotation helm.sh/resource-policy is keep, in this spelling",
	Why: "Helm knows only keep. At an upgrade it compares the text as it is, and at an uninstallation any text counts " +
		"(https://helm.sh/docs/howto/charts_tips_and_tricks/#tell-helm-not-to-uninstall-a-resource).",
	Fix:  "Write keep, or remove the annotation.",
	Says: "has " + rendering.HelmKeeps + ": %q, and Helm knows only keep", Then: "an upgrade that has it no more deletes it, and helm uninstall leaves it",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			if a := o.Object.GetAnnotations(); rendering.KeptAtUninstall(a) && !rendering.KeptAtUpgrade(a) {
				s.Report(o, `metadata.annotations["`+rendering.HelmKeeps+`"]`, a[rendering.HelmKeeps]).SetBy(rendering.HelmKeeps)
			}
		}
	},
}
