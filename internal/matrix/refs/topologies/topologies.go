// Package topologies checks the places that StorageClasses of a bundle allow for their volumes
// (allowedTopologies), and the nodes that its volumes are for (nodeAffinity). The simulated provisioner makes every volume anywhere, so that nothing else
// notices one that no node can use. It must not know what the claims are for.
package topologies

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/refs/claims"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Any reports whether a bundle has such a class or volume, so that the nodes matter.
func Any(e *bundle.Expectation) bool { return len(classes(e))+len(volumes(e)) > 0 }

// Find returns the claims of classes that allow no node of the cluster. A driver gives nodes labels of
// its own, e.g. topology.ebs.csi.aws.com/zone: of a label that no node has, and that is not one of
// Kubernetes' own, nothing is known.
func Find(e *bundle.Expectation, nodes []corev1.Node) []problem.Problem {
	found := elsewhere(e, nodes)
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

// placed is a volume of the bundle that is for some nodes.
type placed struct {
	problem.Problem
	pv corev1.PersistentVolume
}

func volumes(e *bundle.Expectation) (all []placed) {
	for i := range e.Objects {
		p := placed{Problem: problem.Of(&e.Objects[i])}
		if o := e.Objects[i].Object; o.GetKind() == "PersistentVolume" && problem.Read(&e.Objects[i], &p.pv) && p.pv.Spec.NodeAffinity != nil && p.pv.Spec.NodeAffinity.Required != nil {
			all = append(all, p)
		}
	}
	return all
}

// elsewhere finds volumes for nodes that there are none of, and that a claim of the bundle gets: the one that it names,
// or, of a class without a provisioner, any, if no volume of the class is for a node.
func elsewhere(e *bundle.Expectation, nodes []corev1.Node) []problem.Problem {
	var found []problem.Problem
	for _, v := range volumes(e) {
		if reaches(&v.pv, nodes) {
			continue
		}
		all := claims.Of(e)
		i := slices.IndexFunc(all, func(c claims.Claim) bool {
			if c.Spec.VolumeName != "" {
				return c.Spec.VolumeName == v.pv.Name
			}
			class, ok := wanted(&c)
			return ok && class != "" && class == v.pv.Spec.StorageClassName && onlyByHand(e, class, nodes) && !other(e, class, nodes)
		})
		if i < 0 {
			continue
		}
		p := v.Problem
		p.Name, p.Cause, p.Reason = v.pv.Name, "nodes of volume "+v.pv.Name, reason.SchedulingFailed
		p.Text = fmt.Sprintf("is for nodes with %s (spec.nodeAffinity), and no node of this cluster has that; claim %s of %s gets no other volume", affinity(v.pv.Spec.NodeAffinity.Required), all[i].Name, all[i].From)
		p.Then = "no node takes a pod that uses it"
		found = append(found, p)
	}
	return found
}

// reaches reports whether a node is one that a volume is for, or may be: a driver gives nodes labels of its own.
func reaches(pv *corev1.PersistentVolume, nodes []corev1.Node) bool {
	for _, t := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return !known(r.Key, nodes) }) {
			return true
		}
	}
	return len(nodes) == 0 || slices.ContainsFunc(nodes, func(n corev1.Node) bool { return volume.CheckNodeAffinity(pv, n.Labels) == nil })
}

// onlyByHand reports whether nothing makes volumes of a class: it has no provisioner, or is none.
func onlyByHand(e *bundle.Expectation, class string, nodes []corev1.Node) bool {
	for i := range e.Objects {
		var c storagev1.StorageClass
		if o := e.Objects[i].Object; o.GetKind() == "StorageClass" && o.GetName() == class && problem.Read(&e.Objects[i], &c) {
			return c.Provisioner == "kubernetes.io/no-provisioner"
		}
	}
	return class != simulate.StandardClass && !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return slices.Contains(simulate.StorageClasses(&n), class) })
}

// other reports whether a volume of a class is for a node, or for any.
func other(e *bundle.Expectation, class string, nodes []corev1.Node) bool {
	return slices.ContainsFunc(e.Objects, func(o bundle.Object) bool {
		var pv corev1.PersistentVolume
		return o.Object.GetKind() == "PersistentVolume" && problem.Read(&o, &pv) && pv.Spec.StorageClassName == class && (pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil || reaches(&pv, nodes))
	})
}

// affinity is the text of a selector of nodes.
func affinity(s *corev1.NodeSelector) string {
	var all []string
	for _, t := range s.NodeSelectorTerms {
		var parts []string
		for _, r := range t.MatchExpressions {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s [%s]", r.Key, r.Operator, strings.Join(r.Values, ", "))))
		}
		all = append(all, strings.Join(parts, " and "))
	}
	return strings.Join(all, ", or ")
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
