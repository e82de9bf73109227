package delivery

import (
	"fmt"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var kubeVersion = judge.Check{
	ID: "MX560", Name: "chart-refuses-providers-version", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Title: "A chart's kubeVersion takes the version that the provider's API server reports",
	Why: "EKS reports e.g. v1.36.1-eks-3025e55 and GKE v1.36.1-gke.1386000. To a constraint such as >= 1.25.0 these are pre-releases, of which it takes none (https://github.com/Masterminds/semver#working-with-prerelease-versions), " +
		"and Helm installs no chart whose constraint does not take the version. The API server of a cell reports v1.36.1. Argo CD gives Helm the version without what a provider adds, and helm template asks no cluster: a warning there.",
	Fix:  "End the versions of the constraint in -0, e.g. >= 1.25.0-0.",
	Says: "is of chart %s %s, whose kubeVersion is %q, and to that the API server of %s, e.g. %s, is a pre-release", Then: "Helm does not install the chart there, also in Flux (Argo CD does): write %[6]q",
	Run: func(s *judge.Scope) {
		v := versionsOf(s)
		eachChart(s, v, func(o *bundle.Object, ch *chart.Chart) {
			want := ch.Metadata.KubeVersion
			if !v.refuses(want) {
				return
			}
			found := s.Report(of(o, ch.Name()+"/Chart.yaml"+lineOf(ch)), "", ch.Name(), ch.Metadata.Version, want, v.provider, v.full, open(want)).SetBy("").OneCause(ch.Name())
			if s.Order.ArgoCD || s.Order.AtOnce {
				found.Warning()
			}
		})
	},
}

// of is an object as one that another file decides about.
func of(o *bundle.Object, template string) *bundle.Object {
	as := *o
	as.Template = template
	return &as
}

// versions are the version of an API server, and the same at the provider of the nodes.
type versions struct{ provider, plain, full string }

// suffixes are what providers add to the version. GitVersion alone has them: the API servers of 1.36 and 1.37 set the Minor of
// /version from the number of their version, without the "+" that builds with a suffix have (component-base,
// compatibility/version.go, Info; "15+" was what older ones said, hack/lib/version.sh). So what a chart makes of
// .Capabilities.KubeVersion.Minor is the same with every provider.
var suffixes = map[string]string{facts.EKS: "-eks-3025e55", facts.GKE: "-gke.1386000"}

func versionsOf(s *judge.Scope) versions {
	provider := facts.Provider(s.Nodes)
	return versions{provider, s.Version, s.Version + suffixes[provider]}
}

// refuses reports whether a constraint takes the version, and not that of the provider, or the reverse.
func (v versions) refuses(constraint string) bool {
	return constraint != "" && chartutil.IsCompatibleRange(constraint, v.plain) != chartutil.IsCompatibleRange(constraint, v.full)
}

// eachChart calls a function for each chart with its first object, where the provider's version is another.
func eachChart(s *judge.Scope, v versions, each func(o *bundle.Object, ch *chart.Chart)) {
	if v.provider == "" {
		return
	}
	seen := map[*chart.Chart]bool{nil: true}
	for i := range s.Expectation.Objects {
		o := &s.Expectation.Objects[i]
		if !seen[o.Chart] && o.Chart.Metadata != nil {
			each(o, o.Chart)
		}
		seen[o.Chart] = true
	}
}

// lineOf is the line of kubeVersion in Chart.yaml, after a colon; empty if that is not known.
func lineOf(ch *chart.Chart) string {
	for _, file := range ch.Raw {
		if file.Name != chartutil.ChartfileName {
			continue
		}
		for i, text := range strings.Split(string(file.Data), "\n") {
			if strings.HasPrefix(text, "kubeVersion:") {
				return fmt.Sprintf(":%d", i+1)
			}
		}
	}
	return ""
}

var lastVersion = regexp.MustCompile(`(\d+(?:\.\d+){0,2})([^\d.-]*)$`)

// open is a constraint that also takes pre-releases: Helm's own convention.
func open(constraint string) string { return lastVersion.ReplaceAllString(constraint, "${1}-0${2}") }
