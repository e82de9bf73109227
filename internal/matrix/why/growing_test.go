package why

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// The explanation of a pod that no group makes a node for names each group and what is in the way there: the limit, which
// can be raised, or a check of the scheduler, by which the edit is chosen. Karpenter is quoted.
func TestExplain_Groups(t *testing.T) {
	further := testkit.NodeList(testkit.TestNodes())[3]
	further.Labels = map[string]string{"pool": "whole", corev1.LabelInstanceTypeStable: "p5"}
	claims := schema.GroupVersionResource{Group: infra.KarpenterGroup, Version: "v1", Resource: "nodeclaims"}
	made := func(name string) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": map[string]any{"name": name, "labels": map[string]any{"karpenter.sh/nodepool": "accelerated-a"}}}}
	}
	for name, tt := range map[string]struct {
		most  int
		want  string // of its pool
		said  string
		lines []string
		short string
	}{
		"max":      {1, "whole", "the limit", []string{"Karpenter makes no node for it: the limit", "a further node of group accelerated-a (p5): the group has its max of 3 nodes (p.yaml:7)", "edit: raise the max of 3 of group accelerated-a in p.yaml:7"}, "a further node of group accelerated-a (p5) refuses by max of 3"},
		"selector": {2, "half", "no such pool", []string{"Karpenter makes no node for it: no such pool", "a further node of group accelerated-a (p5): nodeSelector pool=half (has whole)", "edit: change `pool: half` to `aicr.nvidia.com/node-type: system` in its pod template; or change `pool: half` to `aicr.nvidia.com/node-type: accelerated` in its pod template; or change `pool: half` to `pool: whole`"}, "a further node of group accelerated-a (p5) refuses by nodeSelector pool"},
		"silent":   {2, "whole", "", []string{"Karpenter has not said that it makes no node for it, and none came", "a further node of group accelerated-a (p5): nothing that is checked here rules them out"}, ""},
		"ended":    {2, "whole", "", []string{"no node is made any more: Karpenter ended with the run that kept this cluster", "a further node of group accelerated-a (p5): nothing that is checked here rules them out"}, ""},
	} {
		pod := wanting(selecting("pool", tt.want))
		pod.UID = "u"
		clients := &infra.Clients{Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{claims: "NodeClaimList"}, made("a-1"))}
		var events []runtime.Object
		if tt.said != "" {
			events = append(events, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "n"}, Reason: "FailedScheduling", Message: tt.said, InvolvedObject: corev1.ObjectReference{Kind: "Pod", UID: "u"}})
		}
		clients.Kube = fake.NewClientset(events...)
		growth, err := observe.ReadGrowth(t.Context(), clients, []infra.NodeGroup{{Name: "accelerated-a", Most: tt.most, Max: 3, Origin: "p.yaml:7", Node: &further}})
		if err != nil {
			t.Fatal(err)
		}
		growth.Ended = name == "ended"
		view := &observe.View{Nodes: zoned(), Growth: growth}
		e := explainPods([]observe.PodFacts{observe.FactsOf(pod)}, nil, view)
		lines := e.lines()
		for _, want := range tt.lines {
			if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
				t.Errorf("%s: want %q in %q", name, want, lines)
			}
		}
		if got := e.noFurther(); got != tt.short {
			t.Errorf("%s: got %q, want %q", name, got, tt.short)
		}
	}
	long := strings.Repeat("ä", mostSaid+1)
	if got := cutShort(long); len([]rune(got)) != mostSaid+2 || cutShort("short") != "short" {
		t.Errorf("got %d characters", len([]rune(got)))
	}
}
