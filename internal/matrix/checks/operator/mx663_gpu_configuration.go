package operator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/operators"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var clusterPolicyKind = schema.GroupVersionKind{Group: "nvidia.com", Version: "v1", Kind: "ClusterPolicy"}

var gpuConfiguration = judge.Check{
	ID: "MX663", Name: "gpu-configuration-missing", Needs: judge.Rendered, Kinds: judge.KindsOf("nvidia.com", "ClusterPolicy", "NVIDIADriver"),
	Title: "The configurations that a ClusterPolicy names exist",
	Why: "The GPU Operator mounts the ConfigMaps and Secrets that its resources name into the pods of the driver, the device plugin, the MIG manager and the exporter, from its own namespace " +
		"(https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html). The operator is simulated in a cell, and its pods run nothing.",
	Fix:  "Deliver the object in the namespace of the GPU Operator, or correct the name or the key.",
	Says: "names %s %s, and nothing in the recipe makes it", Then: "pods of the operator stay in ContainerCreating, and nodes get no GPUs; if the cluster has it, say so in --cluster-file",
	Others: map[string]judge.Message{"key": {Says: "names %s %s, which has no key %s", Then: "pods of the operator stay in ContainerCreating: they mount that key"}},
	Run: func(s *judge.Scope) {
		namespace := ofGPUOperator(s)
		if namespace == "" || s.More() { // another release has the operator, or the cluster has what is not here
			return
		}
		for _, o := range s.Rendered(judge.KindsOf("nvidia.com", "ClusterPolicy", "NVIDIADriver")...) {
			for _, c := range gpuConfigurations {
				name, _, _ := unstructured.NestedString(o.Object.Object, strings.Split(c.path, ".")...)
				if c.of != o.Ref().Kind || name == "" || name == c.made || s.MadeAtRunTime(c.kind, namespace, name, o.Ref()) != nil {
					continue
				}
				full := infra.NamespacedName(namespace, name)
				found := s.Find(schema.GroupKind{Kind: c.kind}, namespace, name)
				if found == nil {
					s.Report(o, c.path, c.kind, full).SetBy(name).Missing(result.Ref{Kind: c.kind, Namespace: namespace, Name: name})
				} else if c.key != "" && !facts.Keys(found)[c.key] {
					s.ReportAs("key", o, c.path, c.kind, full, c.key).SetBy(name)
				}
			}
		}
	},
}

// ofGPUOperator is the namespace of the GPU Operator; empty if the bundle does not deliver it.
func ofGPUOperator(s *judge.Scope) string {
	for _, o := range s.Rendered(judge.KindsOf("apps", "Deployment")...) {
		if o.Ref().Name == operators.OperatorOf(clusterPolicyKind) {
			return o.Object.GetNamespace()
		}
	}
	return ""
}

// configurationOf is the ConfigMap of the bundle that a ClusterPolicy names for one of its operands, e.g. devicePlugin, and the entry of
// it that is the default; nil if it names none, or nothing here has it.
func configurationOf(s *judge.Scope, policy *bundle.Object, operand string) (at *bundle.Object, config *corev1.ConfigMap, byDefault string) {
	name, _, _ := unstructured.NestedString(policy.Object.Object, "spec", operand, "config", "name")
	byDefault, _, _ = unstructured.NestedString(policy.Object.Object, "spec", operand, "config", "default")
	namespace := ofGPUOperator(s)
	if name == "" || namespace == "" {
		return nil, nil, ""
	}
	if at = s.Find(schema.GroupKind{Kind: "ConfigMap"}, namespace, name); at == nil {
		return nil, nil, ""
	}
	return at, facts.As[corev1.ConfigMap](s.Index, at), byDefault
}

// gpuConfigurations are the fields of the GPU Operator's resources that name an object of its namespace, as its API has them
// (api/nvidia/v1 and v1alpha1 of https://github.com/NVIDIA/gpu-operator).
var gpuConfigurations = []struct {
	of, path, kind string
	made           string // what the operator makes itself
	key            string // what its pods read of it; empty if that is not known
}{
	{"ClusterPolicy", "spec.devicePlugin.config.name", "ConfigMap", "", ""},
	{"ClusterPolicy", "spec.migManager.config.name", "ConfigMap", "default-mig-parted-config", "config.yaml"},
	{"ClusterPolicy", "spec.migManager.gpuClientsConfig.name", "ConfigMap", "default-gpu-clients", "clients.yaml"},
	{"ClusterPolicy", "spec.vgpuDeviceManager.config.name", "ConfigMap", "default-vgpu-devices-config", "config.yaml"},
	{"ClusterPolicy", "spec.dcgmExporter.config.name", "ConfigMap", "", exporterMetrics},
	{"ClusterPolicy", "spec.driver.certConfig.name", "ConfigMap", "", ""},
	{"ClusterPolicy", "spec.driver.kernelModuleConfig.name", "ConfigMap", "", ""},
	{"ClusterPolicy", "spec.driver.licensingConfig.configMapName", "ConfigMap", "", ""},
	{"ClusterPolicy", "spec.driver.licensingConfig.secretName", "Secret", "", ""},
	{"ClusterPolicy", "spec.driver.repoConfig.configMapName", "ConfigMap", "", ""},
	{"ClusterPolicy", "spec.driver.virtualTopology.config", "ConfigMap", "", ""},
	{"NVIDIADriver", "spec.certConfig.name", "ConfigMap", "", ""},
	{"NVIDIADriver", "spec.kernelModuleConfig.name", "ConfigMap", "", ""},
	{"NVIDIADriver", "spec.licensingConfig.name", "ConfigMap", "", ""},
	{"NVIDIADriver", "spec.licensingConfig.secretName", "Secret", "", ""},
	{"NVIDIADriver", "spec.repoConfig.name", "ConfigMap", "", ""},
	{"NVIDIADriver", "spec.virtualTopologyConfig.name", "ConfigMap", "", ""},
}
