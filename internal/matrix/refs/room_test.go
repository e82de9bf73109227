package refs

import (
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

// What a workload wants beyond the room of the nodes lengthens no budget.
func TestRoom_Pods(t *testing.T) {
	var all []*corev1.Node
	for _, n := range nodes() {
		all = append(all, &n)
	}
	e := &bundle.Expectation{Workloads: []bundle.Workload{{Kind: "Deployment", Replicas: 2_000_000_000}, {Kind: "DaemonSet", Replicas: -1}, {Kind: "Job", Replicas: 5000}, {Kind: "Deployment", Replicas: 2}}}
	if got, want := RoomPods(e, all), 330+3+5000+2; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
