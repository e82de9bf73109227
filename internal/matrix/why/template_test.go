package why

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What the API server takes from a RuntimeClass counts for a workload without pods too, and is not called the
// template's own.
func TestTemplateRefusal_RuntimeClass(t *testing.T) {
	class := func(name string, s *nodev1.Scheduling) *nodev1.RuntimeClass {
		c := &nodev1.RuntimeClass{Scheduling: s}
		c.Name = name
		return c
	}
	all := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	view := &observe.View{Nodes: testkit.NodeList(testkit.TestNodes()), RuntimeClasses: map[string]*nodev1.RuntimeClass{
		"kata":  class("kata", &nodev1.Scheduling{NodeSelector: map[string]string{"kata": "yes"}}),
		"here":  class("here", &nodev1.Scheduling{NodeSelector: map[string]string{bundle.NodeTypeLabel: "system"}, Tolerations: all}),
		"plain": class("plain", nil),
	}}
	workload := func(class string, tolerations []corev1.Toleration) *bundle.Workload {
		return &bundle.Workload{Kind: "CronJob", Component: "c", PodSpec: corev1.PodSpec{RuntimeClassName: &class, Tolerations: tolerations, Containers: []corev1.Container{{Name: "m"}}}}
	}
	for _, c := range []struct {
		w    *bundle.Workload
		want bool
	}{
		{workload("kata", all), false},
		{workload("plain", all), true},
		{workload("gone", all), true}, // another check names it
		{workload("here", nil), true}, // by the class's own toleration
		{workload("plain", nil), false},
	} {
		if text, _, _ := TemplateRefusal(c.w, view); (text == "") != c.want {
			t.Errorf("class %s: got %q, want a node: %v", *c.w.PodSpec.RuntimeClassName, text, c.want)
		}
		if len(c.w.PodSpec.NodeSelector) > 0 {
			t.Errorf("class %s: the workload itself has %v now", *c.w.PodSpec.RuntimeClassName, c.w.PodSpec.NodeSelector)
		}
	}
	e := explainTemplate(workload("kata", all), view)
	if want := []string{"remove `kata: yes` from scheduling.nodeSelector of RuntimeClass kata"}; !slices.Equal(e.Edits, want) {
		t.Errorf("got edits %q, want %q", e.Edits, want)
	}
	if len(e.Sources) != 1 {
		t.Fatalf("got sources %q, want one", e.Sources)
	}
	testkit.WantText(t, "the source", e.Sources[0], "nodeSelector kata=yes: scheduling.nodeSelector of RuntimeClass kata, from which the API server adds it")
}
