package operators

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ChartMadeAnnotation is on a ClusterPolicy whose chart has the operands and the RuntimeClass
// itself, as the simulated chart does: its operator makes nothing.
const ChartMadeAnnotation = "aicr.nvidia.com/operands"

// GPUDeployLabels are put on a node with GPUs by GPU Operator, and decide which operands run there.
// MIG is what H100 and newer have.
func GPUDeployLabels() map[string]string {
	labels := map[string]string{}
	for _, o := range gpuOperands {
		labels[o.deployLabel()] = "true"
	}
	return labels
}

// gpuOperand is a DaemonSet that GPU Operator makes of a section of a ClusterPolicy.
type gpuOperand struct {
	section string // of the spec; its field enabled, unless it is always made
	always  bool
	off     bool   // made only if enabled is true; the others are made unless it is false
	name    string // of the DaemonSet
	deploy  string // nvidia.com/gpu.deploy.…
	account string
	image   string // if the section names none
	native  bool   // runs before there is an NVIDIA runtime, so without the RuntimeClass
}

func (o gpuOperand) deployLabel() string { return "nvidia.com/gpu.deploy." + o.deploy }

// The operands for containers, as in assets/state-* of v25.10. Left out is
// nvidia-mps-control-daemon, for nodes with the label nvidia.com/mps.capable, and what is for
// virtual machines and confidential containers (docs/limits.md).
var gpuOperands = []gpuOperand{
	{section: "driver", name: "nvidia-driver-daemonset", deploy: "driver", account: "nvidia-driver", image: "driver", native: true},
	{section: "toolkit", name: "nvidia-container-toolkit-daemonset", deploy: "container-toolkit", account: "nvidia-container-toolkit", image: "container-toolkit", native: true},
	{section: "validator", always: true, name: "nvidia-operator-validator", deploy: "operator-validator", account: "nvidia-operator-validator", image: "gpu-operator"},
	{section: "devicePlugin", name: "nvidia-device-plugin-daemonset", deploy: "device-plugin", account: "nvidia-device-plugin", image: "k8s-device-plugin"},
	{section: "dcgm", off: true, name: "nvidia-dcgm", deploy: "dcgm", account: "nvidia-dcgm", image: "dcgm"},
	{section: "dcgmExporter", name: "nvidia-dcgm-exporter", deploy: "dcgm-exporter", account: "nvidia-dcgm-exporter", image: "dcgm-exporter"},
	{section: "gfd", name: "gpu-feature-discovery", deploy: "gpu-feature-discovery", account: "nvidia-gpu-feature-discovery", image: "k8s-device-plugin"},
	{section: "migManager", name: "nvidia-mig-manager", deploy: "mig-manager", account: "nvidia-mig-manager", image: "k8s-mig-manager"},
	{section: "nodeStatusExporter", off: true, name: "nvidia-node-status-exporter", deploy: "node-status-exporter", account: "nvidia-node-status-exporter", image: "gpu-operator"},
}

func (o gpuOperand) enabled(spec map[string]any) bool {
	section, _ := spec[o.section].(map[string]any)
	enabled, set := section["enabled"].(bool)
	own, _ := section["useNvidiaDriverCRD"].(bool) // an NVIDIADriver has the driver instead
	return o.always || !own && (enabled || !set && !o.off)
}

// clusterPolicy follows controllers/object_controls.go of GPU Operator v25.10, as far as scheduling
// goes.
func clusterPolicy(cr *unstructured.Unstructured, namespace string) []*unstructured.Unstructured {
	if cr.GetAnnotations()[ChartMadeAnnotation] == "chart" {
		return nil
	}
	spec, _, _ := unstructured.NestedMap(cr.Object, "spec")
	class, _, _ := unstructured.NestedString(spec, "operator", "runtimeClass")
	if class == "" {
		class = "nvidia"
	}
	out := []*unstructured.Unstructured{runtimeClass(class)}
	if cdi, set, _ := unstructured.NestedBool(spec, "cdi", "enabled"); cdi || !set {
		out = append(out, runtimeClass("nvidia-cdi"), runtimeClass("nvidia-legacy"))
	}
	for _, o := range gpuOperands {
		if !o.enabled(spec) {
			continue
		}
		account := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": o.account, "namespace": namespace},
		}}
		out = append(out, account, o.daemonSet(spec, namespace, class))
	}
	return out
}

// runtimeClass: the handler has the name of the class.
func runtimeClass(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": map[string]any{"name": name}, "handler": name,
	}}
}

func (o gpuOperand) daemonSet(spec map[string]any, namespace, class string) *unstructured.Unstructured {
	all, _ := spec["daemonsets"].(map[string]any)
	section, _ := spec[o.section].(map[string]any)
	container := map[string]any{"name": o.name, "image": "nvcr.io/nvidia/" + o.image, "securityContext": map[string]any{"privileged": true}}
	if r, ok := section["resources"].(map[string]any); ok && len(r) > 0 {
		container["resources"] = r
	}
	pod := map[string]any{
		"serviceAccountName": o.account,
		"priorityClassName":  "system-node-critical",
		"nodeSelector":       map[string]any{o.deployLabel(): "true"},
		"tolerations":        []any{map[string]any{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}},
		"containers":         []any{container},
	}
	for _, key := range []string{"priorityClassName", "tolerations"} { // the policy's replace the operator's own
		if v, ok := all[key]; ok && !emptyValue(v) {
			pod[key] = v
		}
	}
	if !o.native {
		pod["runtimeClassName"] = class
	}
	selector := map[string]any{"app": o.name}
	labels := map[string]any{}
	if more, ok := all["labels"].(map[string]any); ok {
		maps.Copy(labels, more)
	}
	maps.Copy(labels, selector)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": map[string]any{"name": o.name, "namespace": namespace, "labels": maps.Clone(labels)},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": selector},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod},
		},
	}}
}

func gpuOperator() standIn {
	return standIn{
		GVK:        schema.GroupVersionKind{Group: "nvidia.com", Version: "v1", Kind: "ClusterPolicy"},
		Reason:     "GPU Operator would make the RuntimeClass nvidia and the operands' DaemonSets of it",
		Operator:   "gpu-operator",
		synthesize: clusterPolicy,
	}
}
