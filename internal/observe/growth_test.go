package observe

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

func growthEvent(version, reason, pod, message string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "work", Name: pod + version, ResourceVersion: version}, Reason: reason, Message: message, Source: corev1.EventSource{Component: "karpenter"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "work", Name: pod, UID: types.UID(pod)},
	}
}

// The pod of which Karpenter speaks first made the node, and the others of the same node came along. A pod is rejected by
// the last that Karpenter said of it.
func TestReadGrowth(t *testing.T) {
	claim := func(name, created, node string) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": map[string]any{"name": name, "creationTimestamp": created, "labels": map[string]any{"karpenter.sh/nodepool": "accelerated-a"}},
			"status": map[string]any{"nodeName": node},
		}}
	}
	groups := []infra.NodeGroup{{Name: "accelerated-a", Most: 2, Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "accelerated-0", Labels: map[string]string{"gpu": "yes"}}}}}
	clients := &infra.Clients{
		Kube: fake.NewClientset(
			growthEvent("10", "Nominated", "second", "Pod should schedule on: nodeclaim/a-1, node/a-1"), growthEvent("9", "Nominated", "first", "Pod should schedule on: nodeclaim/a-1"),
			growthEvent("11", "Nominated", "third", "Pod should schedule on: nodeclaim/a-10"), growthEvent("12", "FailedScheduling", "never", "no room"),
			growthEvent("8", "FailedScheduling", "third", "not yet"),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a-10", Labels: map[string]string{"karpenter.sh/nodepool": "accelerated-a"}}},
		),
		Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{nodeClaims: "NodeClaimList"},
			claim("a-10", "2026-01-01T00:00:02Z", ""), claim("a-1", "2026-01-01T00:00:01Z", "a-1"), claim("a-2", "2026-01-01T00:00:03Z", "")),
	}
	g, err := ReadGrowth(t.Context(), clients, groups)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range g.Claims {
		got = append(got, c.Name+" on "+c.Node+" for "+strings.Join(c.Pods, ","))
	}
	if want := []string{"a-1 on a-1 for work/first,work/second", "a-10 on a-10 for work/third", "a-2 on  for "}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	pod := func(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}} }
	if g.Rejected(pod("never")) != "no room" || g.May(pod("never")) || !g.May(pod("third")) || !g.May(pod("unheard")) || g.Made("accelerated-a") != 3 || g.Made("accelerated-b") != 0 {
		t.Errorf("got %+v", g)
	}
	controller := true
	pinned := pod("unheard")
	pinned.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &controller}}
	if g.May(pinned) {
		t.Error("no node is made for the pod of a DaemonSet, which is for one that exists")
	}
	if g, err := ReadGrowth(t.Context(), &infra.Clients{}, nil); err != nil || g.May(pod("unheard")) {
		t.Errorf("without groups: got %+v, %v; no pod has a node made for it", g, err)
	}
}

// A DaemonSet of nodes that a group may make runs on none until one is made; one that no group has nodes for is wrong.
func TestDaemonSet_Further(t *testing.T) {
	view := &View{Nodes: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "system-0"}}}, Live: map[string]LiveWorkload{"DaemonSet n/d": {}}}
	view.Growth.Groups = []infra.NodeGroup{{Name: "accelerated-a", Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"gpu": "yes"}}}}}
	w := bundle.Workload{Kind: "DaemonSet", Namespace: "n", Name: "d", Replicas: -1, PodSpec: corev1.PodSpec{NodeSelector: map[string]string{"gpu": "yes"}}}
	r := CheckWorkloads([]bundle.Workload{w}, view)
	if len(r.Wrong)+len(r.Waiting) > 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "1 DaemonSet not verified, since only nodes of the group accelerated-a admit the pods and no pod made one: n/d") {
		t.Errorf("got %+v", r)
	}
	w.PodSpec.NodeSelector["gpu"] = "no"
	if r = CheckWorkloads([]bundle.Workload{w}, view); len(r.Wrong) != 1 || !r.Wrong[0].Template {
		t.Errorf("got %+v", r)
	}
	if with := view.WithFurther(); len(with.Nodes) != 2 || with.Nodes[1].Name != "accelerated-a" || len(view.Nodes) != 1 {
		t.Errorf("got %+v", with.Nodes)
	}
}

// A node that is made while a poll lists the cluster is known by the time at which a pod is seen on it.
func TestPoll_NodeMadeMeanwhile(t *testing.T) {
	kube := fake.NewClientset()
	kube.PrependReactor("list", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
		return false, nil, kube.Tracker().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "made"}})
	})
	view, err := Poll(t.Context(), kube)
	if err != nil || len(view.Nodes) != 1 {
		t.Errorf("got %+v, %v; want the node that was made when pods were listed", view, err)
	}
}
