package storage

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var volumeForNoNode = judge.Check{
	ID: "MX370", Name: "volume-for-no-node", Needs: judge.Rendered, Kinds: judge.KindsOf("", "PersistentVolume"), Gives: reason.SchedulingFailed,
	Title: "A volume that a claim gets is for a node of the cluster",
	Why: "A PersistentVolume's nodeAffinity names the nodes that can use it (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#node-affinity), and the scheduler places a pod nowhere else. " +
		"It counts for a claim that names the volume, or whose class nothing makes volumes of. Of a driver's own label that no node has, nothing is known.",
	Fix:  "Name a node or a zone that the cluster has.",
	Says: "is for nodes with %s (spec.nodeAffinity), and no node of this cluster has that; claim %s of %s gets no other volume", Then: "no node takes a pod that uses it",
	Run: func(s *judge.Scope) {
		all := facts.ClaimsOf(s.Expectation)
		for _, o := range s.OfKind(judge.KindsOf("", "PersistentVolume")...) {
			pv := facts.As[corev1.PersistentVolume](s.Index, o)
			if pv == nil || pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil || reachesNode(pv, s.Nodes) {
				continue
			}
			i := slices.IndexFunc(all, func(c facts.ClaimTemplate) bool {
				if c.Spec.VolumeName != "" {
					return c.Spec.VolumeName == pv.Name
				}
				class, ok := wantedClass(&c)
				return ok && class != "" && class == pv.Spec.StorageClassName && onlyByHand(s, class) && !another(s, class)
			})
			if i >= 0 {
				s.Report(o, "spec.nodeAffinity.required", affinityText(pv.Spec.NodeAffinity.Required), all[i].Name, all[i].From).SetBy(pv.Name).OneCause(pv.Name)
			}
		}
	},
}

// reachesNode reports whether a node is one that a volume is for, or may be: a driver gives nodes labels of its own.
func reachesNode(pv *corev1.PersistentVolume, nodes []corev1.Node) bool {
	for _, t := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return !isKnown(r.Key, nodes) }) {
			return true
		}
	}
	return len(nodes) == 0 || slices.ContainsFunc(nodes, func(n corev1.Node) bool { return volume.CheckNodeAffinity(pv, n.Labels) == nil })
}

// onlyByHand reports whether nothing makes volumes of a class: it has no provisioner, or is none.
func onlyByHand(s *judge.Scope, class string) bool {
	for _, o := range s.OfKind(judge.KindsOf(storagev1.GroupName, "StorageClass")...) {
		if c := facts.As[storagev1.StorageClass](s.Index, o); c != nil && c.Name == class {
			return c.Provisioner == "kubernetes.io/no-provisioner"
		}
	}
	return class != simulate.DefaultClassOf(nodesOf(s)) && !slices.ContainsFunc(s.Nodes, func(n corev1.Node) bool { return slices.Contains(simulate.StorageClasses(&n), class) })
}

// another reports whether a volume of a class is for a node, or for any.
func another(s *judge.Scope, class string) bool {
	return slices.ContainsFunc(s.OfKind(judge.KindsOf("", "PersistentVolume")...), func(o *bundle.Object) bool {
		pv := facts.As[corev1.PersistentVolume](s.Index, o)
		return pv != nil && pv.Spec.StorageClassName == class && (pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil || reachesNode(pv, s.Nodes))
	})
}

// affinityText is the text of a selector of nodes.
func affinityText(s *corev1.NodeSelector) string {
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
