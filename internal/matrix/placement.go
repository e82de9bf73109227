package matrix

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// gpuResource is what a pod asks for to get a GPU. Labels with these names say what a node has.
const (
	gpuResource     = corev1.ResourceName("nvidia.com/gpu")
	gpuProductLabel = "nvidia.com/gpu.product"
)

// Placement is which pods stood on which node in the gate's last look.
type Placement struct {
	Nodes []PlacedNode `json:"nodes"`
	// Unplaced are the pods that no node has.
	Unplaced []PodGroup `json:"unplaced,omitempty"`
}

// PlacedNode is a node and the pods on it.
type PlacedNode struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // system or accelerated
	Instance string `json:"instance,omitempty"`
	Zone     string `json:"zone,omitempty"`
	// GPUProduct is what the GPUs are called, GPUs how many there are, GPUsTaken how many pods asked for.
	GPUProduct string `json:"gpuProduct,omitempty"`
	GPUs       int    `json:"gpus,omitempty"`
	GPUsTaken  int    `json:"gpusTaken,omitempty"`
	// CPU and Memory are what pods asked for, in percent of what the node has, rounded up.
	CPU    int        `json:"cpuPercent"`
	Memory int        `json:"memoryPercent"`
	Pods   []PodGroup `json:"pods,omitempty"`
}

// PodGroup is the pods of one workload on one node.
type PodGroup struct {
	Namespace string `json:"namespace"`
	// Workload is the kind and name at the top of the pods' owners, e.g. "DaemonSet nvidia-driver-daemonset".
	Workload string `json:"workload"`
	// Component of the recipe; empty for what no chart of the recipe has.
	Component string   `json:"component,omitempty"`
	Pods      []string `json:"pods"`
	GPUs      int      `json:"gpus,omitempty"`
	// Done: the pods have ended, and hold nothing of the node any more.
	Done bool `json:"done,omitempty"`
	// Misplaced: the workload belongs on nodes of another kind, which this names.
	Misplaced string `json:"misplaced,omitempty"`
}

// placementOf reads a placement from a look; nil if there was none.
func placementOf(expected []bundle.Workload, s *snapshot) *Placement {
	if s == nil {
		return nil
	}
	names := map[types.UID]result.Ref{}
	for _, w := range s.workload {
		names[w.uid] = w.ref
	}
	known := map[result.Ref]*bundle.Workload{}
	for i := range expected {
		known[workloadRef(expected[i].Kind, expected[i].Namespace, expected[i].Name)] = &expected[i]
	}
	p := &Placement{Nodes: []PlacedNode{}}
	on := map[string]*podShelf{"": {}}
	for i := range s.nodes {
		on[s.nodes[i].Name] = &podShelf{node: &s.nodes[i]}
	}
	for owner, pods := range s.podsOf {
		for _, pod := range pods {
			top, ok := names[owner]
			if !ok {
				top = workloadRef("Pod", pod.Namespace, pod.Name)
			}
			if shelf := on[pod.Spec.NodeName]; shelf != nil {
				shelf.add(pod, top, known[top])
			}
		}
	}
	for i := range s.nodes {
		p.Nodes = append(p.Nodes, on[s.nodes[i].Name].placed())
	}
	slices.SortFunc(p.Nodes, func(a, b PlacedNode) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	p.Unplaced = on[""].groups()
	return p
}

// podShelf gathers the pods of one node; without a node, those that have none.
type podShelf struct {
	node                *corev1.Node
	byKey               map[shelfKey]*PodGroup
	cpu, memory, gpuSum int64 // in milli-CPUs, bytes and GPUs
}

// shelfKey: pods that have ended are a group of their own.
type shelfKey struct {
	workload result.Ref
	done     bool
}

func (s *podShelf) add(pod *corev1.Pod, top result.Ref, w *bundle.Workload) {
	done := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	id := shelfKey{top, done}
	g := s.byKey[id]
	if g == nil {
		g = &PodGroup{Namespace: top.Namespace, Workload: top.Kind + " " + top.Name, Done: done}
		if s.byKey == nil {
			s.byKey = map[shelfKey]*PodGroup{}
		}
		s.byKey[id] = g
		if w != nil {
			g.Component = w.Component
			if s.node != nil && w.Node != bundle.NodeAny && nodeKinds([]corev1.Node{*s.node})[s.node.Name] != w.Node {
				g.Misplaced = string(w.Node)
			}
		}
	}
	g.Pods = append(g.Pods, pod.Name)
	if done {
		return
	}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	gpus := requests[gpuResource]
	g.GPUs += int(gpus.Value())
	s.gpuSum += gpus.Value()
	s.cpu += requests.Cpu().MilliValue()
	s.memory += requests.Memory().Value()
}

func (s *podShelf) groups() []PodGroup {
	var all []PodGroup
	for _, g := range s.byKey {
		slices.Sort(g.Pods)
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b PodGroup) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Workload, b.Workload), strings.Compare(a.Pods[0], b.Pods[0]))
	})
	return all
}

func (s *podShelf) placed() PlacedNode {
	n := s.node
	gpus := n.Status.Allocatable[gpuResource]
	return PlacedNode{
		Name: n.Name, Kind: string(nodeKinds([]corev1.Node{*n})[n.Name]), Instance: n.Labels[corev1.LabelInstanceTypeStable], Zone: n.Labels[corev1.LabelTopologyZone],
		GPUProduct: n.Labels[gpuProductLabel], GPUs: int(gpus.Value()), GPUsTaken: int(s.gpuSum),
		CPU: percent(s.cpu, n.Status.Allocatable.Cpu().MilliValue()), Memory: percent(s.memory, n.Status.Allocatable.Memory().Value()), Pods: s.groups(),
	}
}

// percent is rounded up: whatever was asked for is more than nothing.
func percent(part, whole int64) int {
	if whole <= 0 {
		return 0
	}
	return int((part*100 + whole - 1) / whole)
}
