package delivery

import (
	"strconv"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// wave is Argo CD's annotation for the order of objects.
const wave = "argocd.argoproj.io/sync-wave"

var orderIsNoNumber = judge.Check{
	ID: "MX511", Name: "order-is-no-number", Needs: judge.Rendered,
	Title: "The weight of a hook and the wave of an object are whole numbers",
	Why: "Helm reads helm.sh/hook-weight (https://helm.sh/docs/topics/charts_hooks/#writing-a-hook) and Argo CD argocd.argoproj.io/sync-wave " +
		"(https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/) as whole numbers. Both take anything else for 0 and say nothing.",
	Fix:  "Write a whole number, in quotes.",
	Says: "has %s: %q, which is no number", Then: "%[3]s takes it for 0",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered() {
			for _, a := range []struct{ name, by string }{{rendering.HelmHookWeight, "Helm"}, {wave, "Argo CD"}} {
				value, ok := o.Object.GetAnnotations()[a.name]
				if _, err := strconv.Atoi(value); ok && err != nil {
					s.Report(o, `metadata.annotations["`+a.name+`"]`, a.name, value, a.by).SetBy(a.name)
				}
			}
		}
	},
}
