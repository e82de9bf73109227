package daytwo

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/recipe"
)

var chartRepublished = judge.Check{
	ID: "MX714", Name: "chart-republished", Needs: judge.Second, Later: true, Lanes: func(o judge.Order) bool { return o.ArgoCD },
	Title: "A chart with other content has another version",
	Why: "Argo CD takes a chart of a Helm repository for what its version is, and keeps the old one until a hard refresh. In a cell every chart is an OCI source, whatever the recipe has, " +
		"and Argo CD was asked to look again. Of an OCI source it looks up the tag within timeout.reconciliation by itself, so that it is a note.",
	Fix:  "Give the new content a new version.",
	Says: "comes with chart %s %s, which has other content than before under the same version: here Argo CD was asked to look again, as the webhook of a registry does",
	Then: "the chart is an OCI source here; of a Helm repository such as the recipe's, %[3]s, it keeps the old one until a hard refresh (argocd app get %[4]s --hard-refresh): give the new content a new version",
	Others: map[string]judge.Message{"oci": {
		Says: "comes with chart %s %s, which has other content than before under the same version: here Argo CD was asked to look again, as the webhook of a registry does",
		Then: "by itself it looks up the tag within timeout.reconciliation (2 to 3 minutes)",
	}},
	Run: func(s *judge.Scope) {
		for _, r := range lane.RepublishedReleases(s.Delivery.Before, s.Delivery.Now) {
			i := slices.IndexFunc(s.Expectation.Objects, func(o bundle.Object) bool { return o.Release == r.Name })
			c := slices.IndexFunc(s.Components, func(c recipe.Component) bool { return c.Name == r.Component })
			if i < 0 {
				continue
			}
			source := ""
			if c >= 0 {
				source = s.Components[c].Source
			}
			if o := &s.Expectation.Objects[i]; source == "" || strings.HasPrefix(source, "oci://") {
				s.ReportAs("oci", o, "", r.Chart, r.ChartVersion).Note()
			} else {
				s.Report(o, "", r.Chart, r.ChartVersion, source, r.Name)
			}
		}
	},
}
