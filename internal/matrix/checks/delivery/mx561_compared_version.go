package delivery

import (
	"fmt"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var comparedVersion = judge.Check{
	ID: "MX561", Name: "template-compares-providers-version", Needs: judge.Rendered,
	Title: "A template's condition on the version of Kubernetes takes the version that the provider's API server reports",
	Why: "EKS reports e.g. v1.36.1-eks-3025e55, which to a constraint without a pre-release is a pre-release, and no constraint of that kind takes one " +
		"(https://helm.sh/docs/chart_template_guide/function_list/#semvercompare). So the chart renders something else there than in a cell. What a helper or a variable gives as the version is not known to be Kubernetes' own.",
	Fix:  "End the versions of the constraint in -0, e.g. >=1.25-0.",
	Says: "is of chart %s %s, of which a template compares the version with %q, and to that the API server of %s, e.g. %s, is a pre-release",
	Then: "Helm and Flux render something else there than here (Argo CD does not): write %[6]q",
	Run: func(s *judge.Scope) {
		v := versionsOf(s)
		eachChart(s, v, func(o *bundle.Object, ch *chart.Chart) {
			if v.refuses(ch.Metadata.KubeVersion) {
				return // it is not installed
			}
			for _, c := range v.conditions(ch) {
				s.Report(of(o, c.at), "", ch.Name(), ch.Metadata.Version, c.constraint, v.provider, v.full, open(c.constraint)).SetBy("")
			}
		})
	},
}

// condition is a comparison in a template.
type condition struct{ at, constraint string }

var compares = regexp.MustCompile(`semverCompare\s+["` + "`" + `]([^"` + "`" + `]+)["` + "`" + `]\s+\(?\s*\$?\.Capabilities\.KubeVersion(?:\.(?:Version|GitVersion))?[\s)}]`)

// conditions are the comparisons of the templates of a chart, and of the charts in it, whose outcome differs.
func (v versions) conditions(ch *chart.Chart) []condition {
	var all []condition
	for _, t := range ch.Templates {
		line := 0
		for text := range strings.SplitSeq(string(t.Data), "\n") {
			line++
			for _, m := range compares.FindAllStringSubmatch(text, -1) {
				if v.refuses(m[1]) {
					all = append(all, condition{fmt.Sprintf("%s/%s:%d", ch.ChartFullPath(), t.Name, line), m[1]})
				}
			}
		}
	}
	for _, d := range ch.Dependencies() {
		all = append(all, v.conditions(d)...)
	}
	return all
}
