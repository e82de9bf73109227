package observe

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// GPUProductLabel names a node's GPUs.
const GPUProductLabel = "nvidia.com/gpu.product"

// PlacementOf returns the placement in a poll; nil without one.
func PlacementOf(expected []bundle.Workload, s *View) *result.Placement {
	if s == nil {
		return nil
	}
	names := map[types.UID]result.Ref{}
	for _, w := range s.Live {
		names[w.UID] = w.ref
	}
	known := map[result.Ref]*bundle.Workload{}
	for i := range expected {
		known[WorkloadRef(expected[i].Kind, expected[i].Namespace, expected[i].Name)] = &expected[i]
	}
	p := &result.Placement{Nodes: []result.PlacedNode{}}
	on := map[string]*podShelf{"": {}}
	for i := range s.Nodes {
		on[s.Nodes[i].Name] = &podShelf{node: &s.Nodes[i]}
	}
	for owner, pods := range s.PodsOf {
		for _, pod := range pods {
			top, ok := names[owner]
			if !ok {
				top = WorkloadRef("Pod", pod.Namespace, pod.Name)
			}
			if shelf := on[pod.Spec.NodeName]; shelf != nil {
				shelf.add(pod, top, known[top])
			}
		}
	}
	for i := range s.Nodes {
		p.Nodes = append(p.Nodes, on[s.Nodes[i].Name].placed())
	}
	slices.SortFunc(p.Nodes, func(a, b result.PlacedNode) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	p.Unplaced = on[""].groups()
	if len(p.Nodes) >= groupFrom {
		group(p)
	}
	return p
}

// podShelf collects the pods of one node, or those without a node.
type podShelf struct {
	node                *corev1.Node
	byKey               map[shelfKey]*result.PodGroup
	cpu, memory, gpuSum int64 // in milli-CPUs, bytes and GPUs
}

// shelfKey groups pods; those that have ended are a group of their own.
type shelfKey struct {
	workload result.Ref
	done     bool
}

func (s *podShelf) add(pod *corev1.Pod, top result.Ref, w *bundle.Workload) {
	done := infra.PodEnded(pod)
	id := shelfKey{top, done}
	g := s.byKey[id]
	if g == nil {
		g = &result.PodGroup{Namespace: top.Namespace, Workload: top.Kind + " " + top.Name, Done: done}
		if s.byKey == nil {
			s.byKey = map[shelfKey]*result.PodGroup{}
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
	gpus := requests[infra.GPUResource]
	g.GPUs += int(gpus.Value())
	s.gpuSum += gpus.Value()
	s.cpu += requests.Cpu().MilliValue()
	s.memory += requests.Memory().Value()
}

func (s *podShelf) groups() []result.PodGroup {
	var all []result.PodGroup
	for _, g := range s.byKey {
		slices.Sort(g.Pods)
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b result.PodGroup) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Workload, b.Workload), strings.Compare(a.Pods[0], b.Pods[0]))
	})
	return all
}

func (s *podShelf) placed() result.PlacedNode {
	n := s.node
	return result.PlacedNode{
		Name: n.Name, Kind: string(nodeKinds([]corev1.Node{*n})[n.Name]), Instance: n.Labels[corev1.LabelInstanceTypeStable], Zone: n.Labels[corev1.LabelTopologyZone],
		GPUProduct: n.Labels[GPUProductLabel], GPUs: infra.NodeGPUs(n), GPUsTaken: int(s.gpuSum),
		CPU: percent(s.cpu, n.Status.Allocatable.Cpu().MilliValue()), Memory: percent(s.memory, n.Status.Allocatable.Memory().Value()), Pods: s.groups(),
	}
}

// percent rounds up, so that any request is more than nothing.
func percent(part, whole int64) int {
	if whole <= 0 {
		return 0
	}
	return int((part*100 + whole - 1) / whole)
}
