package delivery

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var notAppliedFromCRDs = judge.Check{
	ID: "MX556", Name: "flux-leaves-out-of-crds", Needs: judge.Rendered, Lanes: func(o judge.Order) bool { return o.Flux && !o.ArgoCD }, Gives: reason.DeployFailed,
	Title: "A chart's crds/ has CustomResourceDefinitions alone",
	Why: "helm-controller applies nothing else from there, and says nothing of it; Helm and Argo CD create it " +
		"(https://github.com/fluxcd/helm-controller/blob/main/internal/action/crds.go).",
	Fix:  "Move it to the chart's templates.",
	Says: "is in the chart's crds/, of which Flux applies CustomResourceDefinitions alone", Then: "its HelmRelease is Ready without it: move it to the chart's templates",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			if o := &s.Expectation.Objects[i]; o.InCRDs() && o.Object.GetKind() != "CustomResourceDefinition" {
				s.Report(o, "").OneCause(o.Ref().String())
			}
		}
	},
}
