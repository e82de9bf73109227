package access

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var podSecurityLabel = judge.Check{
	ID: "MX419", Name: "pod-security-label-unknown", Needs: judge.Rendered, Kinds: judge.KindsOf("", "Namespace"),
	Title: "The labels for pod security are those that the API server reads",
	Why:   "The API server reads enforce, audit and warn, each with -version (https://kubernetes.io/docs/concepts/security/pod-security-admission/#pod-security-admission-labels-for-namespaces), and ignores any other label of that prefix.",
	Fix:   "Correct the label.",
	Says:  "has the label %s, which the API server does not read", Then: "the level that it was to set does not apply",
	Run: func(s *judge.Scope) {
		const prefix = "pod-security.kubernetes.io/"
		for _, o := range s.Rendered(judge.KindsOf("", "Namespace")...) {
			for key := range o.Object.GetLabels() {
				mode, ours := strings.CutPrefix(key, prefix)
				if ours && !slices.Contains([]string{"enforce", "audit", "warn"}, strings.TrimSuffix(mode, "-version")) {
					s.Report(o, `metadata.labels["`+key+`"]`, key).SetBy(key)
				}
			}
		}
	},
}
