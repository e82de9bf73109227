package collect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

// machine is a file system of a machine.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// clusterOptions are clients of a cluster with two nodes, two pods and two policies.
func clusterOptions() Options {
	node := func(name, pool string, taints ...corev1.Taint) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": pool, "os": "linux"}}, Spec: corev1.NodeSpec{Taints: taints}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		return n
	}
	pod := func(name string, images ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}}
		for _, i := range images {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Image: i})
		}
		return p
	}
	node2 := node("b", "gpu", corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule})
	node2.Labels["nvidia.com/gpu.product"] = "NVIDIA-H100"
	kube := fake.NewClientset(node("a", "system"), node2, pod("p", "nvcr.io:443/nvidia/driver:580", "nvcr.io:443/nvidia/driver:570"), pod("q", "pause", "x@sha256:abc"))
	kube.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.36.1", Platform: "linux/amd64"}
	kinds := map[schema.GroupVersionResource]string{}
	for _, p := range policies {
		kinds[p.GroupVersionResource] = p.kind + "List"
	}
	object := func(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}}
	}
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		object("nvidia.com/v1", "ClusterPolicy", "cluster-policy", map[string]any{
			"driver": map[string]any{"version": "580.105.08", "enabled": true, "env": []any{map[string]any{"name": "PASSWORD", "value": "hunter2"}}, "licenseToken": "hunter2", "imagePullSecrets": []any{"hunter2"}},
		}),
	)
	return Options{Kube: kube, Dynamic: dyn}
}

func TestTake(t *testing.T) {
	o := clusterOptions()
	o.Root = machine(t, map[string]string{
		"etc/os-release":                       "# a comment\nID=ubuntu\nVERSION_ID=\"24.04\"\n\nbroken\n",
		"proc/cmdline":                         "BOOT_IMAGE=/vmlinuz root=/dev/x hugepages=1 hugepages=2 quiet my_password=hunter2\n",
		"proc/modules":                         "nvidia 1 2 - Live 0x0\nib_core 1 2 - Live 0x0\n",
		"proc/sys/kernel/osrelease":            "6.8.0-1028-aws\n",
		"proc/sys/net/ipv4/tcp_rmem":           "4096\t131072\t6291456\n",
		"proc/sys/kernel/random/boot_id":       "x\n",
		"proc/sys/net/ipv4/tcp_fastopen_key":   "hunter2\n",
		"proc/sys/net/ipv6/conf/all/something": "1\n",
	})
	o.Version, o.Now = "v1", time.Unix(0, 0)
	s, failures := Take(t.Context(), o)
	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret is in the snapshot:\n%s", text)
	}
	back, err := snapshot.Read("s.yaml", text)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, text)
	}
	for path, want := range map[string]string{
		"K8s.server.version":                        "v1.36.1",
		"K8s.image.nvcr.io:443/nvidia/driver":       "570,580",
		"K8s.image.pause":                           "latest",
		"K8s.image.x":                               "sha256:abc",
		"K8s.policy.driver.version":                 "580.105.08",
		"K8s.policy.driver.enabled":                 "true",
		"NodeTopology.summary.node-count":           "2",
		"NodeTopology.label.pool":                   "gpu,system",
		"NodeTopology.label.nvidia.com/gpu.product": "NVIDIA-H100",
		"NodeTopology.taint.nvidia.com/gpu":         "present:NoSchedule",
		"OS.release.ID":                             "ubuntu",
		"OS.release.VERSION_ID":                     "24.04",
		"OS.grub.hugepages":                         "1,2",
		"OS.grub.quiet":                             "true",
		"OS.kmod.nvidia":                            "true",
		"OS.sysctl./proc/sys/kernel/osrelease":      "6.8.0-1028-aws",
		"OS.sysctl./proc/sys/net/ipv4/tcp_rmem":     "4096 131072 6291456",
	} {
		if got, ok := back.Value(path); !ok || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"OS.sysctl./proc/sys/kernel/random/boot_id", "OS.sysctl./proc/sys/net/ipv6/conf/all/something", "OS.sysctl./proc/sys/net/ipv4/tcp_fastopen_key"} {
		if got, ok := back.Value(path); ok {
			t.Errorf("%s is %q, and should be left out", path, got)
		}
	}
	if got := back.ContextOf("NodeTopology.label.x")["nvidia.com/gpu.product"]; got != "on 1 of 2 nodes" {
		t.Errorf("got %q", got)
	}
	// SystemD cannot be asked of another root, and there is no GPU here or its program is not
	// found: neither keeps the others from being measured.
	var types []string
	for _, f := range failures {
		types = append(types, f.Type)
	}
	if !strings.Contains(strings.Join(types, " "), "SystemD") || back.Metadata["failed"] == nil {
		t.Errorf("got %v, %v", failures, back.Metadata)
	}
}

func TestTake_NoCluster(t *testing.T) {
	s, failures := Take(t.Context(), Options{Only: []string{"k8s", "NodeTopology"}, NoCluster: errors.New("no kubeconfig")})
	if len(s.Measurements) != 0 || len(failures) != 2 || failures[0].Error() != "K8s is not measured: no kubeconfig" {
		t.Errorf("got %v, %v", s.Measurements, failures)
	}
}

// What one list of the cluster refuses leaves out that list alone, and a collector that hangs is
// not waited for.
func TestTake_CollectorFails(t *testing.T) {
	o := clusterOptions()
	o.Only = []string{snapshot.TypeK8s, snapshot.TypeNodeTopology}
	o.Kube.(*fake.Clientset).PrependReactor("list", "pods", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("forbidden") })
	s, failures := Take(t.Context(), o)
	if v, ok := s.Value("K8s.policy.driver.version"); !ok || v != "580.105.08" || len(failures) != 1 || !strings.Contains(failures[0].Error(), "K8s is measured in part only: images: forbidden") {
		t.Errorf("got %q, %v", v, failures)
	}
	hangs := make(chan struct{})
	defer close(hangs)
	o.Kube = hangingNodes{o.Kube, hangs}
	o.Timeout = 2 * time.Second
	s, failures = Take(t.Context(), o)
	if _, ok := s.Value("K8s.server.version"); !ok || len(failures) != 2 || !errors.Is(failures[1], context.DeadlineExceeded) || !strings.Contains(failures[1].Error(), "NodeTopology is not measured: it took more than 2s") {
		t.Errorf("got %v", failures)
	}
}

// hangingNodes is a cluster that answers everything but questions about nodes. A reactor of the
// fake would hold up all of them: they share its lock.
type hangingNodes struct {
	kubernetes.Interface
	hangs <-chan struct{}
}

func (c hangingNodes) CoreV1() corev1client.CoreV1Interface {
	return hangingCore{c.Interface.CoreV1(), c.hangs}
}

type hangingCore struct {
	corev1client.CoreV1Interface
	hangs <-chan struct{}
}

func (c hangingCore) Nodes() corev1client.NodeInterface {
	<-c.hangs
	return c.CoreV1Interface.Nodes()
}

const smiText = `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>580.82.07</driver_version>
  <cuda_version>13.0</cuda_version>
  <attached_gpus>2</attached_gpus>
  <gpu id="00000000:0F:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <product_architecture>Hopper</product_architecture>
    <mig_mode><current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode>
    <fb_memory_usage><total>81559 MiB</total></fb_memory_usage>
    <addressing_mode>N/A</addressing_mode>
  </gpu>
  <gpu id="00000000:1F:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <product_architecture>Hopper</product_architecture>
    <mig_mode><current_mig>Enabled</current_mig></mig_mode>
    <fb_memory_usage><total>81559 MiB</total></fb_memory_usage>
  </gpu>
</nvidia_smi_log>
`

func TestReadSMI(t *testing.T) {
	all, err := readSMI([]byte(smiText))
	if err != nil {
		t.Fatal(err)
	}
	s := &snapshot.Snapshot{Measurements: []snapshot.Measurement{{Type: snapshot.TypeGPU, Subtypes: all}}}
	for path, want := range map[string]string{
		"GPU.driver.version": "580.82.07", "GPU.smi.driver-version": "580.82.07", "GPU.smi.cuda-version": "13.0", "GPU.smi.gpu-count": "2", "GPU.smi.product-name": "NVIDIA H100 80GB HBM3",
		"GPU.smi.product-architecture": "Hopper", "GPU.smi.mig-mode": "Disabled,Enabled", "GPU.smi.memory-total-mib": "81559",
	} {
		if got, _ := s.Value(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if got, ok := s.Value("GPU.smi.addressing-mode"); ok {
		t.Errorf("N/A is no reading; got %q", got)
	}
	for _, bad := range []string{"", "NVIDIA-SMI has failed", "<nvidia_smi_log></nvidia_smi_log>", smiText[:200]} {
		if all, err := readSMI([]byte(bad)); err == nil {
			t.Errorf("%.20q: got %v", bad, all)
		}
	}
}

// The program is the one on the PATH; what it says when it fails is said.
func TestSMIProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := gpus(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "no nvidia-smi on the PATH") {
		t.Errorf("got %v", err)
	}
	script := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'; exit 9\n")
	if _, err := gpus(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "exit status 9: NVIDIA-SMI has failed") {
		t.Errorf("got %v", err)
	}
	script("[ \"$*\" = '-q -x' ] || exit 1\nwhile read -r line; do echo \"$line\"; done <<'X'\n" + smiText + "X\n")
	if all, err := gpus(t.Context(), Options{}); err != nil || len(all) != 2 {
		t.Errorf("got %v, %v", all, err)
	}
}

func TestReadUnit(t *testing.T) {
	s, ok := readUnit("kubelet.service", map[string]any{"LoadState": "loaded", "ActiveState": "active", "Delegate": true, "LimitNOFILE": uint64(1048576), "Id": "kubelet.service"})
	if !ok || s.Name != "kubelet.service" || s.Data["ActiveState"].String() != "active" || s.Data["LimitNOFILE"].String() != "1048576" || s.Data["Delegate"].Value != true {
		t.Errorf("got %+v", s)
	}
	if _, ok := s.Data["Id"]; ok {
		t.Error("a property that nobody asked for is kept")
	}
	if _, ok := readUnit("docker.service", map[string]any{"LoadState": "not-found"}); ok {
		t.Error("a unit that does not exist is kept")
	}
}
