package delivery

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var digestInLabel = judge.Check{
	ID: "MX552", Name: "chart-digest-in-label", Needs: judge.Rendered, First: true, Gives: reason.DeployFailed,
	Title: "No label has the + of a chart's version",
	Why: "Flux adds the digest to the version of a chart from an OCIRepository, after a + (https://fluxcd.io/flux/components/helm/helmreleases/#chart-reference). " +
		"The value of a label has no + (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set).",
	Fix:  `Write {{ .Chart.Version | replace "+" "_" }} in the template, or name the chart by a HelmRepository.`,
	Says: "has the label %s: %s: Flux adds the digest to the version of a chart from an OCIRepository (%s), and a label has no +",
	Then: `the API server rejects it, so that the release is never installed: write {{ .Chart.Version | replace "+" "_" }} in the template, or name the chart by a HelmRepository (spec.chart)`,
	Run: func(s *judge.Scope) {
		withDigest(s, func(o *bundle.Object, r *bundle.Release, digest string) {
			if path, key, value := badLabel(o.Object, digest); key != "" {
				s.Report(o, path, key, value, r.Given.Source).SetBy(".Chart.Version").OneCause("version of " + r.Name)
			}
		})
	},
}

// badLabel is a label, of an object or its pods, that has the digest and cannot be one.
func badLabel(o *unstructured.Unstructured, digest string) (path, key, value string) {
	for _, path := range []string{"metadata.labels", "spec.template.metadata.labels", "spec.selector.matchLabels", "spec.jobTemplate.spec.template.metadata.labels"} {
		labels, _, _ := unstructured.NestedStringMap(o.Object, facts.Steps(path)...)
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if v := labels[key]; strings.Contains(v, digest) && len(validation.IsValidLabelValue(v)) > 0 {
				return path + `["` + key + `"]`, key, v
			}
		}
	}
	return "", "", ""
}
