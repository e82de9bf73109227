// Package chartversions finds what a chart does with its version that fails where Flux adds the digest of
// an OCIRepository to it.
package chartversions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Find returns labels that the API server rejects for the + of the version, and warns of selectors with
// the digest: they cannot be changed when the digest is another.
func Find(e *bundle.Expectation) []problem.Problem {
	seen := map[string]bundle.Release{}
	for _, r := range e.Releases {
		if r.SeenVersion != "" {
			seen[r.Name] = r
		}
	}
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		r, ok := seen[o.Release]
		if !ok {
			continue
		}
		_, digest, _ := strings.Cut(r.SeenVersion, "+")
		p := problem.Of(o)
		p.Name, p.Cause = ".Chart.Version", "version of "+r.Name
		if key, value := invalid(o.Object, digest); key != "" {
			p.Reason = reason.DeployFailed
			p.Text = fmt.Sprintf("has the label %s: %s: Flux adds the digest to the version of a chart from an OCIRepository (%s), and a label has no +", key, value, r.Given.Source)
			p.Then = `the API server rejects it, so that the release is never installed: write {{ .Chart.Version | replace "+" "_" }} in the template, or name the chart by a HelmRepository (spec.chart)`
			found = append(found, p)
			continue
		}
		if key := selects(o.Object, digest); key != "" {
			p.Text = fmt.Sprintf("has the digest of its chart, which Flux adds to the version, in its selector (%s)", key)
			p.Then = "a selector cannot be changed, so that the upgrade to another digest fails: leave the version out of the selector's labels"
			found = append(found, p)
		}
	}
	return found
}

// invalid is a label, of an object or its pods, that has the digest and cannot be one.
func invalid(o *unstructured.Unstructured, digest string) (key, value string) {
	for _, path := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}, {"spec", "selector", "matchLabels"}, {"spec", "jobTemplate", "spec", "template", "metadata", "labels"}} {
		labels, _, _ := unstructured.NestedStringMap(o.Object, path...)
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if v := labels[key]; strings.Contains(v, digest) && len(validation.IsValidLabelValue(v)) > 0 {
				return key, v
			}
		}
	}
	return "", ""
}

// selects is a label of a selector that has the digest.
func selects(o *unstructured.Unstructured, digest string) string {
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if strings.Contains(labels[key], digest) {
			return key
		}
	}
	return ""
}
