package observe

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// NodePool is nodes that are equal in what recipes select nodes by: the kind, the instance type,
// the taints and the allocatable resources.
type NodePool struct {
	Kind     string   `json:"kind"` // aicr.nvidia.com/node-type
	Instance string   `json:"instance,omitempty"`
	Taints   []string `json:"taints,omitempty"`
	// Allocatable is per node.
	Allocatable string   `json:"allocatable,omitempty"`
	Nodes       []string `json:"nodes"`
	NotReady    []string `json:"notReady,omitempty"`
	// Pods is the number of all pods that are bound to these nodes.
	Pods int `json:"pods"`
}

// NodePools groups the nodes of that poll, as the scheduler saw them.
func NodePools(s *View) []NodePool {
	bound := map[string]int{}
	for i := range s.Pods {
		bound[s.Pods[i].Spec.NodeName]++
	}
	var pools []NodePool
	index := map[string]int{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		g := NodePool{
			Kind: n.Labels[bundle.NodeTypeLabel], Instance: n.Labels[corev1.LabelInstanceTypeStable], Taints: taintTexts(n), Allocatable: allocatable(n),
		}
		key := fmt.Sprint(g)
		at, ok := index[key]
		if !ok {
			at = len(pools)
			index[key] = at
			pools = append(pools, g)
		}
		pools[at].Nodes = append(pools[at].Nodes, n.Name)
		pools[at].Pods += bound[n.Name]
		if !infra.NodeReady(n) {
			pools[at].NotReady = append(pools[at].NotReady, n.Name)
		}
	}
	return pools
}

func taintTexts(n *corev1.Node) []string {
	var texts []string
	for _, t := range n.Spec.Taints {
		texts = append(texts, t.ToString())
	}
	slices.Sort(texts)
	return texts
}

// allocatable returns the resources that pods of recipes run out of.
func allocatable(n *corev1.Node) string {
	var parts []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, infra.GPUResource} {
		if q, ok := n.Status.Allocatable[name]; ok {
			parts = append(parts, fmt.Sprintf("%s=%s", name, q.String()))
		}
	}
	return strings.Join(parts, ", ")
}
