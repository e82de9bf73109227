package simulate

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/infra"
)

func node(name string, labels, capacity map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: labels, Annotations: map[string]string{infra.SimulatedNodeAnnotation: "fake"}}}
	n.Status.Capacity = corev1.ResourceList{}
	for k, v := range capacity {
		n.Status.Capacity[corev1.ResourceName(k)] = resource.MustParse(v)
	}
	return n
}

func h100(name string) *corev1.Node {
	return node(name, map[string]string{
		"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559", "nvidia.com/gpu.family": "hopper", "nvidia.com/gpu.compute.major": "9", "nvidia.com/gpu.compute.minor": "0",
		"nvidia.com/cuda.driver.major": "580", "nvidia.com/cuda.driver.minor": "105", "nvidia.com/cuda.driver.rev": "08", corev1.LabelArchStable: "amd64",
	}, map[string]string{"nvidia.com/gpu": "8"})
}

// text is a device's attributes and capacity, "name=value" by name.
func text(d *resourcev1.Device) string {
	var all []string
	for name, a := range d.Attributes {
		switch {
		case a.StringValue != nil:
			all = append(all, string(name)+"="+*a.StringValue)
		case a.VersionValue != nil:
			all = append(all, string(name)+"=v"+*a.VersionValue)
		}
	}
	for name, c := range d.Capacity {
		all = append(all, string(name)+"="+c.Value.String())
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestDevices: a node's devices have the names, attributes and capacity that NVIDIA's driver gives
// them. What is not known of a node is left out.
func TestDevices(t *testing.T) {
	gpus := of(h100("n"), devicesGPUDriver)
	if len(gpus) != 8 || gpus[7].Name != "gpu-7" {
		t.Fatalf("got %d devices, want gpu-0 to gpu-7", len(gpus))
	}
	want := "addressingMode=HMM, architecture=Hopper, brand=Nvidia, cudaComputeCapability=v9.0.0, cudaDriverVersion=v13.0.0, driverVersion=v580.105.8, memory=81559Mi, productName=NVIDIA H100 80GB HBM3, type=gpu, uuid=GPU-"
	if got := text(&gpus[0]); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s…", got, want)
	}
	if *gpus[0].Attributes["uuid"].StringValue == *gpus[1].Attributes["uuid"].StringValue || *gpus[0].Attributes["uuid"].StringValue == *of(h100("m"), devicesGPUDriver)[0].Attributes["uuid"].StringValue {
		t.Error("two GPUs have one UUID")
	}
	if got := of(h100("n"), computeDomainDriver); len(got) != 2 || got[0].Name != "channel-0" || got[1].Name != "daemon-0" || *got[0].Attributes["id"].IntValue != 0 {
		t.Errorf("got %v, want channel-0 and daemon-0", got)
	}
	if got := of(node("s", nil, nil), computeDomainDriver); got != nil {
		t.Errorf("got %v of a node without GPUs", got)
	}
	if got := text(&of(node("v", nil, map[string]string{"nvidia.com/gpu": "1"}), devicesGPUDriver)[0]); !strings.HasPrefix(got, "type=gpu, uuid=") {
		t.Errorf("got %s of a node without labels", got)
	}
	parts := of(node("m", map[string]string{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}, map[string]string{"nvidia.com/gpu": "1", "nvidia.com/mig-3g.40gb": "2", "nvidia.com/mig-nothing": "9"}), devicesGPUDriver)
	if len(parts) != 3 || parts[2].Name != "gpu-1-mig-3g-3-3" {
		t.Fatalf("got %v, want a GPU and two parts of the next one", parts)
	}
	if got := text(&parts[2]); !strings.Contains(got, "memory=40Gi") || !strings.Contains(got, "productName=NVIDIA A100-SXM4-80GB, profile=3g.40gb, type=mig") {
		t.Errorf("got %s", got)
	}
}

func TestNames(t *testing.T) {
	for label, want := range map[string]string{
		"NVIDIA-A100-SXM4-80GB": "NVIDIA A100-SXM4-80GB", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "Tesla-V100-SXM2-16GB": "Tesla V100-SXM2-16GB",
		"NVIDIA-L40S": "NVIDIA L40S", "NVIDIA-A100-80GB-PCIe": "NVIDIA A100 80GB PCIe", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb": "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
	} {
		if got := productName(label); got != want {
			t.Errorf("%s: got %s, want %s", label, got, want)
		}
	}
	for branch, want := range map[string]string{"570": "12.8", "580": "13.0", "572": "12.8", "999": "13.1", "100": "", "x": ""} {
		if got := cudaOf(branch); got != want {
			t.Errorf("driver %s: got CUDA %q, want %q", branch, got, want)
		}
	}
	if got := architecture("ada-lovelace"); got != "Ada Lovelace" {
		t.Errorf("got %s", got)
	}
}

func plugin(command ...string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Image: "driver:1", Command: command}}}
}

// TestDriversOf: a plugin counts where a container starts it, itself or in a shell's script.
func TestDriversOf(t *testing.T) {
	both := plugin("compute-domain-kubelet-plugin")
	both.Containers = append(both.Containers, plugin("bash", "-c", "set -e\ngpu-kubelet-plugin -v $(LOG_VERBOSITY)").Containers...)
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want []string
	}{
		"two":           {both, []string{computeDomainDriver, devicesGPUDriver}},
		"a path":        {plugin("/usr/bin/gpu-kubelet-plugin"), []string{devicesGPUDriver}},
		"another":       {plugin("my-gpu-kubelet-plugin"), nil},
		"another's own": {plugin("gpu-kubelet-plugin.sh"), nil},
	} {
		if got := driversOf(&tc.spec, nil); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	if got := driversOf(&both, func(c *corev1.Container) bool { return c.Image == "driver:1" }); got != nil {
		t.Errorf("got %q of an image that runs as a process", got)
	}
}

func pluginPod(name, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "dra", UID: types.UID(name), Labels: map[string]string{"app": "dra"}}, Spec: plugin("gpu-kubelet-plugin")}
	p.Spec.NodeName, p.Spec.ServiceAccountName = node, "plugin"
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

// TestPublisher: a node has slices while a pod of the driver is ready on it, and none where the API
// server refuses them to the pod's ServiceAccount, or where no GPU is.
func TestPublisher(t *testing.T) {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "dra", Namespace: "dra", UID: "set"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "dra"}}
	set.Spec.Template.Spec = plugin("gpu-kubelet-plugin")
	real := h100("real")
	real.Annotations = nil
	waiting := pluginPod("waiting", "waits")
	waiting.Status.Conditions = nil
	kube := fake.NewClientset(set, h100("one"), h100("two"), h100("refused"), h100("waits"), real, node("none", nil, nil),
		pluginPod("a", "one"), pluginPod("b", "two"), pluginPod("b2", "two"), pluginPod("c", "refused"), pluginPod("d", "none"), pluginPod("e", "real"), waiting)
	// The tracker does not know field selectors.
	kube.PrependReactor("delete-collection", "resourceslices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		fields := a.(clienttesting.DeleteCollectionAction).GetListRestrictions().Fields
		name, _ := fields.RequiresExactMatch("spec.nodeName")
		driver, _ := fields.RequiresExactMatch("spec.driver")
		return true, nil, kube.Tracker().Delete(resourcev1.SchemeGroupVersion.WithResource("resourceslices"), "", slice{name, driver}.name())
	})
	p := newDevices(&infra.Clients{Kube: kube}, slog.New(slog.DiscardHandler), nil)
	p.as = func(pod *corev1.Pod) (kubernetes.Interface, error) {
		if pod.Spec.NodeName == "refused" {
			return nil, errors.New(`system:serviceaccount:dra:plugin cannot create resource "resourceslices"`)
		}
		return kube, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	names := func() string {
		list, err := kube.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for i := range list.Items {
			all = append(all, list.Items[i].Name)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	until := func(want string, complaints int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if got := names(); got == want && len(p.Complaints()) == complaints {
				return
			} else if time.Now().After(end) {
				t.Fatalf("got the slices %q and %q, want %q", got, p.Complaints(), want)
			}
		}
	}
	until("one-gpu.nvidia.com two-gpu.nvidia.com", 1)
	if got := p.Complaints()[0]; got != `DRA driver gpu.nvidia.com publishes no devices on 1 node: system:serviceaccount:dra:plugin cannot create resource "resourceslices"` {
		t.Errorf("got %s", got)
	}
	if got := p.Used(); !slices.Equal(got, []string{"ResourceSlices of gpu.nvidia.com for 2 nodes (by the nodes' labels)"}) {
		t.Errorf("got %q", got)
	}
	s, err := kube.ResourceV1().ResourceSlices().Get(ctx, "one-gpu.nvidia.com", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Spec.Driver != devicesGPUDriver || *s.Spec.NodeName != "one" || s.Spec.Pool.Name != "one" || s.Spec.Pool.ResourceSliceCount != 1 || len(s.Spec.Devices) != 8 || s.OwnerReferences[0].UID != "uid-one" {
		t.Errorf("got %+v", s.Spec)
	}
	for _, name := range []string{"a", "b"} {
		if err := kube.CoreV1().Pods("dra").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	until("two-gpu.nvidia.com", 1) // of the two pods on node two one is left
}
