package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var apartByNoLabel = judge.Check{
	ID: "MX119", Name: "anti-affinity-by-no-label", Needs: judge.Rendered, Until: judge.Settled,
	Title: "Pods are kept apart by a label that nodes have",
	Why: "The topologyKey of a podAntiAffinity is a label of nodes. Where no node has it, no two nodes are in one topology, and every placement keeps the rule " +
		"(https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity).",
	Fix:  "Correct topologyKey, e.g. to kubernetes.io/hostname.",
	Says: "keeps pods apart by %s (podAntiAffinity), a label that no node has", Then: "the scheduler places them as if the rule were not there, even on one node",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			a := p.Template.Spec.Affinity
			if a == nil || a.PodAntiAffinity == nil || len(s.Nodes) == 0 || s.Live == nil && (s.More() || s.May(schema.GroupResource{Resource: "nodes"}, "", "update", "patch")) {
				// A program may label nodes.

				continue
			}
			for i, term := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				if !slices.ContainsFunc(s.Nodes, func(n corev1.Node) bool { _, ok := n.Labels[term.TopologyKey]; return ok }) {
					s.Report(p.Object, fmt.Sprintf("%s.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[%d].topologyKey", p.Path(), i), term.TopologyKey)
				}
			}
		}
	},
}
