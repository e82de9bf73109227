package storage

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var allowedTopologies = judge.Check{
	ID: "MX350", Name: "class-allows-no-node", Needs: judge.Rendered, Kinds: judge.KindsOf(storagev1.GroupName, "StorageClass"), Gives: reason.SchedulingFailed,
	Title: "A StorageClass of which there are claims allows a node of the cluster for its volumes",
	Why: "allowedTopologies restricts where a provisioner may make volumes (https://kubernetes.io/docs/concepts/storage/storage-classes/#allowed-topologies). The simulated provisioner of a cell makes every volume anywhere. " +
		"A driver gives nodes labels of its own: of a label that no node has, and that is not one of Kubernetes' own, nothing is known.",
	Fix:  "Name zones or nodes that the cluster has.",
	Says: "claim %s wants StorageClass %s, which allows only nodes with %s (allowedTopologies), and no node of this cluster has that", Then: "no pod can use its volume, wherever the provisioner makes it",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(storagev1.GroupName, "StorageClass")...) {
			class := facts.As[storagev1.StorageClass](s.Index, o)
			if class == nil || len(class.AllowedTopologies) == 0 || !allowNone(class.AllowedTopologies, s.Nodes) {
				continue
			}
			all := facts.ClaimsOf(s.Expectation)
			for i := range all {
				c := &all[i]
				if named, ok := wantedClass(c); ok && (named == class.Name || named == "" && class.Annotations[simulate.DefaultClass] == "true") {
					s.Report(maker(s, c), "", c.Name, class.Name, termsText(class.AllowedTopologies)).SetBy(class.Name).OneCause(class.Name)
				}
			}
		}
	},
}

func allowNone(terms []corev1.TopologySelectorTerm, nodes []corev1.Node) bool {
	for _, t := range terms {
		for _, m := range t.MatchLabelExpressions {
			if !isKnown(m.Key, nodes) {
				return false
			}
		}
		if slices.ContainsFunc(nodes, func(n corev1.Node) bool {
			return !slices.ContainsFunc(t.MatchLabelExpressions, func(m corev1.TopologySelectorLabelRequirement) bool {
				return !slices.Contains(m.Values, n.Labels[m.Key])
			})
		}) {
			return false
		}
	}
	return len(nodes) > 0
}

func isKnown(key string, nodes []corev1.Node) bool {
	return slices.Contains([]string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelHostname, corev1.LabelInstanceTypeStable}, key) ||
		slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Labels[key] != "" })
}

func termsText(terms []corev1.TopologySelectorTerm) string {
	var all []string
	for _, t := range terms {
		var parts []string
		for _, m := range t.MatchLabelExpressions {
			parts = append(parts, fmt.Sprintf("%s in [%s]", m.Key, strings.Join(m.Values, ", ")))
		}
		all = append(all, strings.Join(parts, " and "))
	}
	return strings.Join(all, ", or ")
}

// wantedClass is the class that a claim which is to get a new volume names; false for others. Without a
// name it is the default one.
func wantedClass(c *facts.ClaimTemplate) (class string, ok bool) {
	class, named := c.Meta.Annotations[corev1.BetaStorageClassAnnotation]
	if c.Spec.StorageClassName != nil {
		class, named = *c.Spec.StorageClassName, true
	}
	return class, c.Spec.VolumeName == "" && (!named || class != "")
}
