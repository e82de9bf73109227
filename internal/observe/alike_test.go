package observe

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A thousand nodes are a few entries; the one that is not like the others is one of its own, and
// every pod is counted.
func TestPlacement_LargeCluster(t *testing.T) {
	const nodes, odd = 1000, 500
	objs := []runtime.Object{testkit.DaemonSet("driver")}
	for i := range nodes {
		n := gpuNode(fmt.Sprintf("accelerated-%d", i))
		n.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("z%d", i%3)
		objs = append(objs, n)
		for j := range 15 {
			objs = append(objs, testkit.Pod(fmt.Sprintf("driver-%d-%d", j, i), "DaemonSet", "driver", n.Name, asks("", "10m")))
		}
		objs = append(objs, testkit.Pod(fmt.Sprintf("late-%d", i), "DaemonSet", "driver", ""))
	}
	objs = append(objs, testkit.Pod("more", "DaemonSet", "driver", fmt.Sprintf("accelerated-%d", odd)))
	got := PlacementOf([]bundle.Workload{testkit.Expected("DaemonSet", "driver", -1, bundle.NodeAccelerated)}, viewOf(t, objs...))
	if len(got.Nodes) != 2 || got.Nodes[0].Alike != nodes-1 || got.Nodes[1].Alike != 0 || got.Nodes[1].Name != "accelerated-500" || len(got.Nodes[1].Pods[0].Pods) != 16 {
		t.Fatalf("got %+v, want 999 nodes that are alike and accelerated-500", got.Nodes)
	}
	all := got.Nodes[0]
	if want := []string{"accelerated-0 to accelerated-499", "accelerated-501 to accelerated-999"}; !slices.Equal(all.Names, want) || all.Zone != "z0, z1, z2" || all.Name != "accelerated-0" || len(all.Pods[0].Pods) != 15 {
		t.Errorf("got %+v, want the names %q, three zones and 15 pods", all, want)
	}
	if late := got.Unplaced; len(late) != 1 || len(late[0].Pods) != namedPods || late[0].More != nodes-namedPods {
		t.Errorf("got the pods without a node %+v, want %d named and %d more", late, namedPods, nodes-namedPods)
	}
	if raw, err := json.Marshal(got); err != nil || len(raw) > 4<<10 {
		t.Errorf("got %d bytes, %v; want at most 4 KiB", len(raw), err)
	}
}

// Whatever a reader of the results can see of a node keeps it apart from others; a cluster of usual
// size has a row for each.
func TestGroup_DifferentNodes(t *testing.T) {
	base := func() result.PlacedNode {
		return result.PlacedNode{Kind: "accelerated", Pods: []result.PodGroup{{Namespace: "ns", Workload: "DaemonSet d", Pods: []string{"d-1"}}}}
	}
	for name, change := range map[string]func(*result.PlacedNode){
		"kind": func(n *result.PlacedNode) { n.Kind = "system" }, "instance": func(n *result.PlacedNode) { n.Instance = "x" }, "product": func(n *result.PlacedNode) { n.GPUProduct = "x" },
		"GPUs": func(n *result.PlacedNode) { n.GPUs = 1 }, "GPUs taken": func(n *result.PlacedNode) { n.GPUsTaken = 1 }, "CPU": func(n *result.PlacedNode) { n.CPU = 1 }, "memory": func(n *result.PlacedNode) { n.Memory = 1 },
		"no pod": func(n *result.PlacedNode) { n.Pods = nil }, "namespace": func(n *result.PlacedNode) { n.Pods[0].Namespace = "x" }, "workload": func(n *result.PlacedNode) { n.Pods[0].Workload = "x" },
		"component": func(n *result.PlacedNode) { n.Pods[0].Component = "x" }, "pods": func(n *result.PlacedNode) { n.Pods[0].Pods = []string{"d-1", "d-2"} }, "a pod's GPUs": func(n *result.PlacedNode) { n.Pods[0].GPUs = 1 },
		"done": func(n *result.PlacedNode) { n.Pods[0].Done = true }, "misplaced": func(n *result.PlacedNode) { n.Pods[0].Misplaced = "system" },
	} {
		p := &result.Placement{}
		for i := range 3 {
			n := base()
			if n.Name = fmt.Sprintf("n-%d", i); i == 1 {
				change(&n)
			}
			p.Nodes = append(p.Nodes, n)
		}
		if group(p); len(p.Nodes) != 2 || p.Nodes[0].Alike != 2 {
			t.Errorf("a node with another %s: got %+v", name, p.Nodes)
		}
	}
	var objs []runtime.Object
	for i := range groupFrom - 1 {
		objs = append(objs, gpuNode(fmt.Sprintf("n-%d", i)))
	}
	if got := PlacementOf(nil, viewOf(t, objs...)); len(got.Nodes) != groupFrom-1 {
		t.Errorf("%d nodes: got %d entries", groupFrom-1, len(got.Nodes))
	}
}

func TestRanges(t *testing.T) {
	got := ranges([]string{"a-10", "a-2", "a-0", "a-1", "b", "c-01", "c-02", "a-11", "d-7", "e9", "e10"})
	if want := []string{"a-0 to a-2", "a-10 to a-11", "b", "c-01", "c-02", "d-7", "e9 to e10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
