package workflow

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
)

// noLine is a task of progress without output.
type noLine struct{ infra.Task }

func (noLine) Update(string) {}

// A virtual node has the labels that its cluster requires, besides those of its group.
func TestNodeLabels(t *testing.T) {
	kube, count := fake.NewClientset(), 1
	e := &Engine{Clients: &infra.Clients{Kube: kube}, NodeLabels: map[string]string{"simulated": "true"}}
	group := VirtualNodeGroup{Type: "one", Count: &count, Labels: map[string]string{"rack": "r1"}, Resources: map[string]string{"cpu": "1"}}
	if _, err := e.nodes(t.Context(), &configureParams{Nodes: []VirtualNodeGroup{group}, Timeout: Duration(200 * time.Millisecond)}, noLine{}); err == nil {
		t.Fatal("without KWOK the node became Ready")
	}
	n, err := kube.CoreV1().Nodes().Get(t.Context(), "virtual-one-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n.Labels["simulated"] != "true" || n.Labels["rack"] != "r1" {
		t.Errorf("got the labels %v", n.Labels)
	}
}
