package room

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
)

func nodes() []corev1.Node {
	node := func(name, disk string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"disk": disk}}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}}}
	}
	return []corev1.Node{node("a", "fast"), node("b", "slow"), node("c", "slow")}
}

// A workload that wants more pods than there is room for is named with both numbers; a Job's pods may
// come one after the other.
func TestFind(t *testing.T) {
	fast := corev1.PodSpec{NodeSelector: map[string]string{"disk": "fast"}}
	for name, c := range map[string]struct {
		w    bundle.Workload
		want string
	}{
		"fits":                 {bundle.Workload{Kind: "Deployment", Replicas: 330}, ""},
		"one too many":         {bundle.Workload{Kind: "Deployment", Replicas: 331}, "wants 331 pods, and there is room for 330 on the 3 nodes that would admit them (allocatable pods)"},
		"of one node":          {bundle.Workload{Kind: "StatefulSet", Replicas: 111, PodSpec: fast}, "wants 111 pods, and there is room for 110 on the 1 node that would admit them"},
		"two thousand million": {bundle.Workload{Kind: "ReplicaSet", Replicas: 2_000_000_000}, "wants 2000000000 pods"},
		"a Job":                {bundle.Workload{Kind: "Job", Replicas: 2_000_000_000}, ""},
		"a DaemonSet":          {bundle.Workload{Kind: "DaemonSet", Replicas: -1}, ""},
		"no node":              {bundle.Workload{Kind: "Deployment", Replicas: 331, PodSpec: corev1.PodSpec{NodeSelector: map[string]string{"disk": "none"}}}, ""},
	} {
		got := ""
		for _, p := range Find(&bundle.Expectation{Workloads: []bundle.Workload{c.w}}, nodes()) {
			got += p.Text
		}
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What a workload wants beyond the room of the nodes lengthens no budget.
func TestPods(t *testing.T) {
	var all []*corev1.Node
	for _, n := range nodes() {
		all = append(all, &n)
	}
	e := &bundle.Expectation{Workloads: []bundle.Workload{{Kind: "Deployment", Replicas: 2_000_000_000}, {Kind: "DaemonSet", Replicas: -1}, {Kind: "Job", Replicas: 5000}, {Kind: "Deployment", Replicas: 2}}}
	if got, want := Pods(e, all), 330+3+5000+2; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
