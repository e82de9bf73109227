package why

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// largeWorld has nodes in ten zones and on each a pod of "web" that keeps apart from the others.
func largeWorld(count int) *observe.View {
	template := &testkit.NodeList(testkit.TestNodes())[0]
	view := &observe.View{}
	for i := range count {
		n := template.DeepCopy()
		n.Name = fmt.Sprintf("s%d", i)
		n.Labels[corev1.LabelHostname] = n.Name
		n.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("z%d", i%10)
		view.Nodes = append(view.Nodes, *n)
		view.Pods = append(view.Pods, *testkit.Pod(fmt.Sprintf("web-%d", i), "", "", n.Name, labelled("web"), apart("web", corev1.LabelHostname)))
	}
	return view
}

// crowded is one more pod of "web", with every rule that is about other nodes' pods.
func crowded() *corev1.Pod {
	p := wanting(labelled("web"), spread("web", corev1.LabelTopologyZone, 0), apart("web", corev1.LabelHostname))
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, wanting(spread("web", corev1.LabelHostname, 0)).Spec.TopologySpreadConstraints...)
	p.Spec.Affinity.PodAffinity = wanting(near1("db", corev1.LabelTopologyZone)).Spec.Affinity.PodAffinity
	return p
}

func BenchmarkExplainThousandNodes(b *testing.B) {
	view, p := largeWorld(1000), crowded()
	for b.Loop() {
		explainPod(p, nil, view)
	}
}

// Ten times the nodes must not cost a hundred times as much. Allocations are counted, since they
// are the same on every machine.
func TestExplain_LargeCluster(t *testing.T) {
	cost := func(nodes int) float64 {
		view, p := largeWorld(nodes), crowded()
		return testing.AllocsPerRun(1, func() { explainPod(p, nil, view) })
	}
	if few, many := cost(100), cost(1000); many > 20*few {
		t.Errorf("%.0f allocations for 100 nodes, %.0f for 1000: something goes through all nodes for each node", few, many)
	}
}
