// Package topologies checks the places that StorageClasses of a bundle allow for their volumes
// (allowedTopologies). The simulated provisioner makes every volume anywhere, so that nothing else
// notices one that no node can use. It must not know what the claims are for.
package topologies

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/refs/claims"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Any reports whether a bundle has such a class, so that the nodes matter.
func Any(e *bundle.Expectation) bool { return len(classes(e)) > 0 }

// Find returns the claims of classes that allow no node of the cluster. A driver gives nodes labels of
// its own, e.g. topology.ebs.csi.aws.com/zone: of a label that no node has, and that is not one of
// Kubernetes' own, nothing is known.
func Find(e *bundle.Expectation, nodes []corev1.Node) []problem.Problem {
	var found []problem.Problem
	for _, class := range classes(e) {
		if !unusable(class.AllowedTopologies, nodes) {
			continue
		}
		all := claims.Of(e)
		for i := range all {
			c := &all[i]
			if named, ok := wanted(c); ok && (named == class.Name || named == "" && class.Annotations[simulate.DefaultClass] == "true") {
				p := c.Problem
				p.Name, p.Cause, p.Reason = class.Name, "topologies "+class.Name, reason.SchedulingFailed
				p.Text = fmt.Sprintf("claim %s wants StorageClass %s, which allows only nodes with %s (allowedTopologies), and no node of this cluster has that", c.Name, class.Name, text(class.AllowedTopologies))
				p.Then = "no pod can use its volume, wherever the provisioner makes it"
				found = append(found, p)
			}
		}
	}
	return found
}

func classes(e *bundle.Expectation) (with []storagev1.StorageClass) {
	for i := range e.Objects {
		var class storagev1.StorageClass
		if o := e.Objects[i].Object; o.GetKind() == "StorageClass" && problem.Read(&e.Objects[i], &class) && len(class.AllowedTopologies) > 0 {
			with = append(with, class)
		}
	}
	return with
}

func unusable(terms []corev1.TopologySelectorTerm, nodes []corev1.Node) bool {
	for _, t := range terms {
		for _, m := range t.MatchLabelExpressions {
			if !known(m.Key, nodes) {
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

func known(key string, nodes []corev1.Node) bool {
	return slices.Contains([]string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelHostname, corev1.LabelInstanceTypeStable}, key) ||
		slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Labels[key] != "" })
}

func text(terms []corev1.TopologySelectorTerm) string {
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

// wanted is the class that a claim which is to get a new volume names; false for others. Without a
// name it is the default one.
func wanted(c *claims.Claim) (class string, ok bool) {
	class, named := c.Meta.Annotations[corev1.BetaStorageClassAnnotation]
	if c.Spec.StorageClassName != nil {
		class, named = *c.Spec.StorageClassName, true
	}
	return class, c.Spec.VolumeName == "" && (!named || class != "")
}
