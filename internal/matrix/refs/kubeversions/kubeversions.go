// Package kubeversions finds charts that Helm refuses, or renders differently, for the version that a
// provider's API server reports. That of EKS is v1.36.1-eks-3025e55 and that of GKE v1.36.1-gke.1386000: to a
// constraint such as >= 1.25.0 they are pre-releases, of which it takes none. The API server of a cell says
// v1.36.1.
package kubeversions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// providers have a label on each of their nodes, and what their API servers add to the version.
var providers = []struct{ name, label, suffix string }{
	{"EKS", "eks.amazonaws.com/", "-eks-3025e55"},
	{"GKE", GKELabels, "-gke.1386000"},
}

// GKELabels is what labels of every node of GKE begin with.
const GKELabels = "cloud.google.com/gke-"

// Any reports whether a chart says for which versions it is.
func Any(e *bundle.Expectation) bool {
	return slices.ContainsFunc(e.Objects, func(o bundle.Object) bool {
		return o.Chart != nil && o.Chart.Metadata != nil && o.Chart.Metadata.KubeVersion != ""
	})
}

// Find returns the charts that do not take the version of the nodes' provider. Argo CD gives Helm the version
// without what a provider adds: there, and with helm template, which asks no cluster (asks is false), they are
// warnings.
func Find(e *bundle.Expectation, nodes []corev1.Node, version string, asks bool) []problem.Problem {
	provider, suffix := of(nodes)
	if suffix == "" {
		return nil
	}
	f := finder{provider: provider, plain: version, full: version + suffix, asks: asks}
	var seen []*chart.Chart
	for i := range e.Objects {
		o := &e.Objects[i]
		if o.Chart == nil || o.Chart.Metadata == nil || slices.Contains(seen, o.Chart) {
			continue
		}
		seen = append(seen, o.Chart)
		f.chart(o)
	}
	return f.found
}

func of(nodes []corev1.Node) (name, suffix string) {
	for i := range nodes {
		for label := range nodes[i].Labels {
			for _, p := range providers {
				if strings.HasPrefix(label, p.label) {
					return p.name, p.suffix
				}
			}
		}
	}
	return "", ""
}

type finder struct {
	provider, plain, full string
	asks                  bool
	found                 []problem.Problem
}

// chart checks the constraint of a chart itself; Helm does not look at those of its dependencies. Of one that is
// taken, it compares the conditions of the templates.
func (f *finder) chart(o *bundle.Object) {
	ch := o.Chart
	p := problem.Of(o)
	if want := ch.Metadata.KubeVersion; want != "" && f.differs(want) {
		p.Cause, p.Template = "kubeVersion "+ch.Name(), ch.Name()+"/Chart.yaml"+lineOf(ch)
		p.Text = fmt.Sprintf("is of chart %s %s, whose kubeVersion is %q, and to that the API server of %s, e.g. %s, is a pre-release", ch.Name(), ch.Metadata.Version, want, f.provider, f.full)
		p.Then = fmt.Sprintf("Helm does not install the chart there, also in Flux (Argo CD does): write %q", open(want))
		if f.asks {
			p.Reason = reason.DeployFailed
		}
		f.found = append(f.found, p)
		return
	}
	for _, c := range f.conditions(ch) {
		p := p
		p.Cause, p.Template = "semverCompare "+c.at, c.at
		p.Text = fmt.Sprintf("is of chart %s %s, of which a template compares the version with %q, and to that the API server of %s, e.g. %s, is a pre-release", ch.Name(), ch.Metadata.Version, c.constraint, f.provider, f.full)
		p.Then = fmt.Sprintf("Helm and Flux render something else there than here (Argo CD does not): write %q", open(c.constraint))
		f.found = append(f.found, p)
	}
}

// differs reports whether a constraint takes the version, and not that of the provider, or the reverse.
func (f *finder) differs(constraint string) bool {
	return chartutil.IsCompatibleRange(constraint, f.plain) != chartutil.IsCompatibleRange(constraint, f.full)
}

// condition is a comparison in a template.
type condition struct{ at, constraint string }

var compares = regexp.MustCompile(`semverCompare\s+["` + "`" + `]([^"` + "`" + `]+)["` + "`" + `]\s+\(?\s*\$?\.Capabilities\.KubeVersion(?:\.(?:Version|GitVersion))?[\s)}]`)

// conditions are the comparisons of the templates of a chart, and of the charts in it, whose outcome differs.
// What a helper or a variable gives as the version is not known to be Kubernetes' own.
func (f *finder) conditions(ch *chart.Chart) []condition {
	var all []condition
	for _, t := range ch.Templates {
		if !strings.Contains(string(t.Data), "semverCompare") {
			continue
		}
		line := 0
		for text := range strings.SplitSeq(string(t.Data), "\n") {
			line++
			for _, m := range compares.FindAllStringSubmatch(text, -1) {
				if f.differs(m[1]) {
					all = append(all, condition{fmt.Sprintf("%s/%s:%d", ch.ChartFullPath(), t.Name, line), m[1]})
				}
			}
		}
	}
	for _, d := range ch.Dependencies() {
		all = append(all, f.conditions(d)...)
	}
	return all
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
