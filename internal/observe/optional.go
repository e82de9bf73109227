package observe

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	names "github.com/nvidia/aicr-action/internal/util/lists"
)

// optionalLabels returns the labels that a DaemonSet's chart has literally in its template, that no node
// has, and without which nodes would admit the pods: a person sets such a label to switch the DaemonSet on.
// No value reaches it, so that no edit of a recipe does. A label that looks like one of the nodes' is a
// mistake, and so is one in a manifest of the recipe's own.
func optionalLabels(w *bundle.Workload, nodes []corev1.Node) []string {
	if w.Chart == nil || w.Manifest != nil || w.Built != nil {
		return nil
	}
	text := manifestline.Template(w.Chart, w.Template)
	had := map[string]bool{}
	for i := range nodes {
		for key := range nodes[i].Labels {
			had[key] = true
		}
	}
	known := slices.Sorted(maps.Keys(had))
	var found []string
	optional := func(key string) bool {
		if had[key] || !isLiteral(text, key) || names.Nearest(key, known) != "" {
			return false
		}
		if !slices.Contains(found, key) {
			found = append(found, key)
		}
		return true
	}
	spec := w.PodSpec.DeepCopy()
	maps.DeleteFunc(spec.NodeSelector, func(key, _ string) bool { return optional(key) })
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		dropTerms(spec.Affinity.NodeAffinity, optional)
	}
	if len(EligibleNodes(spec, nodes)) == 0 {
		return nil
	}
	slices.Sort(found)
	return found
}

// dropTerms removes what a required affinity expects of a label. A term that is empty then matches all.
func dropTerms(a *corev1.NodeAffinity, drop func(key string) bool) {
	if a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	terms := a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchExpressions = slices.DeleteFunc(terms[i].MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return drop(r.Key) })
		if len(terms[i].MatchExpressions)+len(terms[i].MatchFields) == 0 {
			a.RequiredDuringSchedulingIgnoredDuringExecution = nil
			return
		}
	}
}

// isLiteral reports whether a template has the name in a line that it does not compute.
func isLiteral(template, name string) bool {
	for line := range strings.Lines(template) {
		if manifestline.Mentions(line, name) && !strings.Contains(line, "{{") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			return true
		}
	}
	return false
}
