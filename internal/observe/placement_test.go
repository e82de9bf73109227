package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func asks(gpus, cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		if gpus != "" {
			list[infra.GPUResource] = resource.MustParse(gpus)
		}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: list}})
	}
}

// gpuNode has eight GPUs and ten cores.
func gpuNode(name string) *corev1.Node {
	n := testkit.Node(name, bundle.NodeAccelerated)
	n.Labels[corev1.LabelInstanceTypeStable], n.Labels[GPUProductLabel] = "p5.48xlarge", "H100"
	n.Status.Allocatable = corev1.ResourceList{infra.GPUResource: resource.MustParse("8"), corev1.ResourceCPU: resource.MustParse("10")}
	return n
}

// Every pod is on the node that has it, under the name of the workload at the top of its owners;
// what has ended holds nothing.
func TestPlacement(t *testing.T) {
	objs := testkit.Objects(testkit.Deployment("web"), []runtime.Object{
		testkit.Node("s0", bundle.NodeSystem), gpuNode("a0"), testkit.DaemonSet("driver"), testkit.Job("init", ""),
		testkit.Pod("web-1", "ReplicaSet", "web", "a0", asks("3", "1")), testkit.Pod("web-0", "ReplicaSet", "web", "a0", asks("2", "10m")),
		testkit.Pod("driver-x", "DaemonSet", "driver", "a0"), testkit.Pod("lonely", "", "", "s0"),
		testkit.Pod("init-z", "Job", "init", "a0", asks("8", "5"), testkit.Phase(corev1.PodSucceeded)),
		testkit.Pod("web-2", "ReplicaSet", "web", "", testkit.Refused("0/2 nodes are available")),
	})
	got := PlacementOf([]bundle.Workload{testkit.Expected("Deployment", "web", 3, bundle.NodeAccelerated), testkit.Expected("DaemonSet", "driver", -1, bundle.NodeSystem)}, viewOf(t, objs...))
	if len(got.Nodes) != 2 || got.Nodes[0].Name != "a0" || got.Nodes[1].Name != "s0" {
		t.Fatalf("got nodes %+v, want a0 and s0", got.Nodes)
	}
	a0 := got.Nodes[0]
	if a0.Kind != "accelerated" || a0.Instance != "p5.48xlarge" || a0.GPUProduct != "H100" || a0.GPUs != 8 || a0.GPUsTaken != 5 || a0.CPU != 11 {
		t.Errorf("node a0: got %+v, want 5 of 8 H100 taken and 11 %% of the CPU, rounded up", a0)
	}
	want := []result.PodGroup{
		{Namespace: "ns", Workload: "DaemonSet driver", Component: "comp", Pods: []string{"driver-x"}, Misplaced: "system"},
		{Namespace: "ns", Workload: "Deployment web", Component: "comp", Pods: []string{"web-0", "web-1"}, GPUs: 5},
		{Namespace: "ns", Workload: "Job init", Pods: []string{"init-z"}, Done: true},
	}
	wantGroups(t, "a0", a0.Pods, want)
	wantGroups(t, "s0", got.Nodes[1].Pods, []result.PodGroup{{Namespace: "ns", Workload: "Pod lonely", Pods: []string{"lonely"}}})
	wantGroups(t, "nowhere", got.Unplaced, []result.PodGroup{{Namespace: "ns", Workload: "Deployment web", Component: "comp", Pods: []string{"web-2"}}})
	if PlacementOf(nil, nil) != nil {
		t.Error("without a poll there is no placement")
	}
}

func wantGroups(t *testing.T, where string, got, want []result.PodGroup) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %+v, want %+v", where, got, want)
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Namespace != w.Namespace || g.Workload != w.Workload || g.Component != w.Component || len(g.Pods) != len(w.Pods) || g.Pods[0] != w.Pods[0] || g.GPUs != w.GPUs || g.Done != w.Done || g.Misplaced != w.Misplaced {
			t.Errorf("%s: got %+v, want %+v", where, g, w)
		}
	}
}
