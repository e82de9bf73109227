package why

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/observe"
)

const driver = "gpu.nvidia.com"

func selectors(expressions ...string) []resourcev1.DeviceSelector {
	var all []resourcev1.DeviceSelector
	for _, e := range expressions {
		all = append(all, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
	}
	return all
}

// cluster has node n with two H100, of which the claim other/first has one, and node bare.
func cluster() *observe.Devices {
	name, kind, node := "NVIDIA H100 80GB HBM3", "gpu", "n"
	s := resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}}
	for i := range 2 {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: &kind}, "productName": {StringValue: &name}},
			Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("81559Mi")}}})
	}
	first := resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "first"}}
	first.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: driver, Pool: node, Device: "gpu-0"}}}}
	class := func(name, kind string) resourcev1.DeviceClass {
		return resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{Selectors: selectors("device.driver == '" + driver + "' && device.attributes['" + driver + "'].type == '" + kind + "'")}}
	}
	return &observe.Devices{Read: true, Slices: []resourcev1.ResourceSlice{s}, Classes: []resourcev1.DeviceClass{class(driver, "gpu"), class("mig.nvidia.com", "mig")}, Claims: []resourcev1.ResourceClaim{first}}
}

func exactly(class string, count int64, expressions ...string) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, Count: count, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Selectors: selectors(expressions...)}}
}

// TestRefusals: what a claim lacks on a node is said with its class, its selector, and what the
// devices have instead.
func TestRefusals(t *testing.T) {
	product := func(name string) string {
		return `device.attributes["gpu.nvidia.com"].productName == "` + name + `"`
	}
	for name, tc := range map[string]struct {
		requests []resourcev1.DeviceRequest
		node     string
		want     string
	}{
		"one that is free":   {[]resourcev1.DeviceRequest{exactly(driver, 1)}, "n", ""},
		"of this product":    {[]resourcev1.DeviceRequest{exactly(driver, 1, product("NVIDIA H100 80GB HBM3"))}, "n", ""},
		"more than are free": {[]resourcev1.DeviceRequest{exactly(driver, 2)}, "n", "ResourceClaim x/mine: DeviceClass gpu.nvidia.com: asks for 2 devices, has 2, of which 1 free (claims other/first)"},
		"two requests":       {[]resourcev1.DeviceRequest{exactly(driver, 1), exactly(driver, 1)}, "n", "asks for 2 devices, has 2, of which 1 free"},
		"more than there are": {[]resourcev1.DeviceRequest{exactly(driver, 9, product("NVIDIA H100 80GB HBM3"))}, "n",
			`asks for 9 devices with device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3", has 2, of which 1 free`},
		"another product": {[]resourcev1.DeviceRequest{exactly(driver, 1, product("NVIDIA H200"))}, "n",
			`DeviceClass gpu.nvidia.com: none of its 2 devices has device.attributes["gpu.nvidia.com"].productName == "NVIDIA H200" (has productName NVIDIA H100 80GB HBM3)`},
		"more memory": {[]resourcev1.DeviceRequest{exactly(driver, 1, `device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("80Gi")) >= 0`)}, "n", "(has memory 81559Mi)"},
		"another kind": {[]resourcev1.DeviceRequest{exactly("mig.nvidia.com", 1)}, "n",
			"DeviceClass mig.nvidia.com (device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'): none of its 2 devices is of it (gpu.nvidia.com)"},
		"no such class":      {[]resourcev1.DeviceRequest{exactly("gpus.example.com", 1)}, "n", "DeviceClass gpus.example.com does not exist"},
		"a node without":     {[]resourcev1.DeviceRequest{exactly(driver, 1)}, "bare", "has no devices, since no DRA driver publishes any there"},
		"an attribute less":  {[]resourcev1.DeviceRequest{exactly(driver, 1, `device.attributes["gpu.nvidia.com"].nvlink == "4"`)}, "n", "cannot be evaluated for device gpu-0: no such key: nvlink"},
		"no expression":      {[]resourcev1.DeviceRequest{exactly(driver, 1, "device.")}, "n", "device. does not compile"},
		"either":             {[]resourcev1.DeviceRequest{{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "a", DeviceClassName: "mig.nvidia.com", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}, {Name: "b", DeviceClassName: driver, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}}, "n", ""},
		"neither":            {[]resourcev1.DeviceRequest{{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{DeviceClassName: "a", Count: 1}, {DeviceClassName: "b", Count: 1}}}}, "n", "DeviceClass a does not exist, or DeviceClass b does not exist"},
		"all, some of taken": {[]resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: driver, AllocationMode: resourcev1.DeviceAllocationModeAll}}}, "n", "asks for 2 devices, has 2, of which 1 free"},
	} {
		d := cluster()
		claim := resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "mine"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: tc.requests}}}
		d.Claims = append(d.Claims, claim)
		mine := "mine"
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p"}, Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &mine}}}}
		got := newClaimChecker(d, pod).Refusals(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: tc.node}})
		if tc.want == "" && len(got) > 0 || tc.want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, tc.want)) {
			t.Errorf("%s: got %+v, want %q", name, got, tc.want)
		}
	}
}

// TestRefusals_Names: what a pod names and does not exist, a template's claim, and a claim that has
// devices of another node.
func TestRefusals_Names(t *testing.T) {
	d := cluster()
	selector := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}}}}}
	d.Claims[0].Namespace, d.Claims[0].Status.Allocation.NodeSelector = "x", selector
	d.Templates = []resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "late"}}}
	first, gone := "first", "gone"
	refused := func(node string, c corev1.PodResourceClaim, status ...corev1.PodResourceClaimStatus) string {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p"}, Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{c}}}
		pod.Status.ResourceClaimStatuses = status
		var texts []string
		for _, r := range newClaimChecker(d, pod).Refusals(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}) {
			texts = append(texts, r.Text)
		}
		return strings.Join(texts, "\n")
	}
	late := "late"
	for name, tc := range map[string][2]string{
		"allocated here":  {refused("n", corev1.PodResourceClaim{Name: "a", ResourceClaimName: &first}), ""},
		"allocated there": {refused("bare", corev1.PodResourceClaim{Name: "a", ResourceClaimName: &first}), "ResourceClaim x/first has devices of another node"},
		"no claim":        {refused("n", corev1.PodResourceClaim{Name: "a", ResourceClaimName: &gone}), "ResourceClaim x/gone does not exist"},
		"no template":     {refused("n", corev1.PodResourceClaim{Name: "a", ResourceClaimTemplateName: &gone}), "ResourceClaimTemplate x/gone does not exist"},
		"not made yet":    {refused("n", corev1.PodResourceClaim{Name: "a", ResourceClaimTemplateName: &late}), "the claim of ResourceClaimTemplate x/late is not made yet"},
		"made": {refused("bare", corev1.PodResourceClaim{Name: "a", ResourceClaimTemplateName: &late}, corev1.PodResourceClaimStatus{Name: "a", ResourceClaimName: &first}),
			"claim a of ResourceClaimTemplate x/late has devices of another node"},
	} {
		if tc[0] != tc[1] {
			t.Errorf("%s: got %q, want %q", name, tc[0], tc[1])
		}
	}
	d.Read = false
	if got := refused("n", corev1.PodResourceClaim{Name: "a", ResourceClaimName: &gone}); got != "" {
		t.Errorf("got %q of devices that were not read", got)
	}
}

// TestRefusals_Together: devices that satisfy each request by itself, and not what binds them, are refused, as the
// scheduler's allocator does it.
func TestRefusals_Together(t *testing.T) {
	attribute, other := resourcev1.FullyQualifiedName(driver+"/productName"), resourcev1.FullyQualifiedName(driver+"/none")
	for name, tc := range map[string]struct {
		constraints []resourcev1.DeviceConstraint
		taint       bool
		want        string
	}{
		"none":     {},
		"alike":    {constraints: []resourcev1.DeviceConstraint{{MatchAttribute: &attribute}}},
		"distinct": {constraints: []resourcev1.DeviceConstraint{{Requests: []string{"r"}, DistinctAttribute: &attribute}}, want: "ResourceClaim x/mine: its devices satisfy no more than each request by itself, and not all at once (distinctAttribute gpu.nvidia.com/productName of r)"},
		"lacking":  {constraints: []resourcev1.DeviceConstraint{{MatchAttribute: &other}}, want: "not all at once (matchAttribute gpu.nvidia.com/none)"},
		"tainted":  {taint: true, want: "ResourceClaim x/mine: its devices satisfy no more than each request by itself, and not all at once"},
	} {
		d := cluster()
		d.Claims = []resourcev1.ResourceClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "mine"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{exactly(driver, 2)}, Constraints: tc.constraints}}}}
		if tc.taint {
			d.Slices[0].Spec.Devices[0].Taints = []resourcev1.DeviceTaint{{Key: "sick", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
		}
		mine := "mine"
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p"}, Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &mine}}}}
		got := newClaimChecker(d, pod).Refusals(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		if tc.want == "" && len(got) > 0 || tc.want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, tc.want)) {
			t.Errorf("%s: got %+v, want %q", name, got, tc.want)
		}
	}
}
