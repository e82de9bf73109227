package addons

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A group is a NodePool with its labels, taints and limit, and an instance type with its resources and zones, the first of
// which costs the least.
func TestPoolOf(t *testing.T) {
	g := &infra.NodeGroup{Name: "accelerated-a", Most: 3, Zones: []string{"z1", "z2"}, Node: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "accelerated-0", Annotations: map[string]string{"x": "y"}, Labels: map[string]string{
			corev1.LabelHostname: "accelerated-0", corev1.LabelTopologyZone: "z1", corev1.LabelInstanceTypeStable: "big", corev1.LabelArchStable: "arm64", corev1.LabelOSStable: "linux", "tier": "a",
		}},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), infra.GPUResource: resource.MustParse("8")}},
	}}
	raw, err := json.Marshal(poolOf(g, 99).Object)
	if err != nil {
		t.Fatal(err)
	}
	const pool = `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"accelerated-a"},"spec":{"disruption":{"consolidateAfter":"Never","consolidationPolicy":"WhenEmpty"},"limits":{"nodes":3},` +
		`"template":{"metadata":{"annotations":{"x":"y"},"labels":{"kubernetes.io/arch":"arm64","kubernetes.io/os":"linux","node.kubernetes.io/instance-type":"big","tier":"a"}},` +
		`"spec":{"expireAfter":"Never","nodeClassRef":{"group":"karpenter.kwok.sh","kind":"KWOKNodeClass","name":"simulated"},"requirements":[{"key":"karpenter.sh/capacity-type","operator":"In","values":["on-demand"]}],` +
		`"taints":[{"effect":"NoSchedule","key":"gpu","value":"yes"}]}},"weight":99}}`
	if string(raw) != pool {
		t.Errorf("got  %s\nwant %s", raw, pool)
	}
	if raw, err = json.Marshal(typeOf(g)); err != nil {
		t.Fatal(err)
	}
	offering := func(price, zone string) string {
		return `{"Price":` + price + `,"Available":true,"Requirements":[{"key":"karpenter.sh/capacity-type","operator":"In","values":["on-demand"]},{"key":"topology.kubernetes.io/zone","operator":"In","values":["` + zone + `"]}]}`
	}
	if want := `{"name":"big","offerings":[` + offering("1", "z1") + `,` + offering("2", "z2") + `],"architecture":"arm64","operatingSystems":["linux"],"resources":{"cpu":"4","nvidia.com/gpu":"8"}}`; string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	if g.Node.Labels[corev1.LabelHostname] == "" {
		t.Error("the labels of the group were changed")
	}
}

func TestReadiness(t *testing.T) {
	of := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	for want, o := range map[string]*unstructured.Unstructured{
		"":                    of(map[string]any{"type": "Other", "status": "False"}, map[string]any{"type": "Ready", "status": "True"}),
		"NotYet wait":         of(map[string]any{"type": "Ready", "status": "Unknown", "reason": "NotYet", "message": "wait"}),
		"it says nothing yet": of(),
	} {
		if got := readiness(o); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What Karpenter has made can be deleted once it has ended: its finalizers go, and those of others stay.
func TestLeaveNodes(t *testing.T) {
	of := func(apiVersion, kind string, finalizers ...string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a"}}}
		o.SetFinalizers(finalizers)
		return o
	}
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		nodes: "NodeList", nodeClaims: "NodeClaimList", nodePools: "NodePoolList", nodeClasses: "KWOKNodeClassList",
	}, of("v1", "Node", "karpenter.sh/termination", "example.com/mine"), of("karpenter.sh/v1", "NodeClaim", "karpenter.sh/termination"), of("karpenter.sh/v1", "NodePool"), of("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", "karpenter.kwok.sh/termination"))
	r := &Runner{Clients: &infra.Clients{Dynamic: client}}
	if err := r.LeaveNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[schema.GroupVersionResource][]string{nodes: {"example.com/mine"}, nodeClaims: nil, nodePools: nil, nodeClasses: nil} {
		o, err := client.Resource(of).Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || !slices.Equal(o.GetFinalizers(), want) {
			t.Errorf("%s: got the finalizers %q, %v; want %q", of.Resource, o.GetFinalizers(), err, want)
		}
	}
	client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no") })
	if err := r.LeaveNodes(t.Context()); reason.Of(err) != reason.ClusterFailed || !strings.Contains(err.Error(), "list nodes, to leave them without Karpenter: no") {
		t.Errorf("got %v", err)
	}
}
