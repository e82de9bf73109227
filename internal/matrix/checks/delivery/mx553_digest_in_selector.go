package delivery

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var digestInSelector = judge.Check{
	ID: "MX553", Name: "chart-digest-in-selector", Needs: judge.Rendered,
	Title: "No selector has the digest of a chart",
	Why: "Flux adds the digest to the version of a chart from an OCIRepository (https://fluxcd.io/flux/components/helm/helmreleases/#chart-reference), and it is another with each version. " +
		"The selector of a workload cannot be changed (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#label-selector-updates).",
	Fix:  "Leave the version out of the selector's labels.",
	Says: "has the digest of its chart, which Flux adds to the version, in its selector (%s)", Then: "a selector cannot be changed, so that the upgrade to another digest fails: leave the version out of the selector's labels",
	Run: func(s *judge.Scope) {
		withDigest(s, func(o *bundle.Object, _ *bundle.Release, digest string) {
			if _, key, _ := badLabel(o.Object, digest); key != "" {
				return // it is never installed
			}
			labels, _, _ := unstructured.NestedStringMap(o.Object.Object, "spec", "selector", "matchLabels")
			for _, key := range slices.Sorted(maps.Keys(labels)) {
				if strings.Contains(labels[key], digest) {
					s.Report(o, `spec.selector.matchLabels["`+key+`"]`, key).SetBy(".Chart.Version")
					return
				}
			}
		})
	},
}
