package validate

import (
	_ "embed"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// clusterRecipe deploys everything that the checks require.
//
//go:embed testdata/objects/cluster_recipe.yaml
var clusterRecipe string

// cluster is a fake cluster in which every check holds; a test breaks one object.
type cluster struct {
	typed     []runtime.Object
	dynamic   map[string]*unstructured.Unstructured // by kind and name
	nodes     map[string]*corev1.Node
	workloads map[string]*appsv1.Deployment // by namespace/name
	exporter  *appsv1.DaemonSet
	snapshot  string
	// forbidden is a resource that may not be listed.
	forbidden string
}

func healthy() *cluster {
	c := &cluster{dynamic: map[string]*unstructured.Unstructured{}, nodes: map[string]*corev1.Node{}, workloads: map[string]*appsv1.Deployment{}}
	for _, name := range []string{
		"gpu-operator/gpu-operator", "dra/nvidia-dra-driver-gpu-controller", "kai-scheduler/kai-scheduler-default", "monitoring/kube-prometheus-stack-operator",
		"monitoring/prometheus-adapter", "kgateway-system/kgateway", "kubeflow/kubeflow-trainer-manager", "kube-system/coredns", "kube-system/cluster-autoscaler",
	} {
		namespace, n, _ := strings.Cut(name, "/")
		c.workloads[name] = &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: n, Generation: 2},
			Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "nvcr.io:443/nvidia/" + n + ":v25.10.1"}}}}},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 1, AvailableReplicas: 1},
		}
	}
	c.exporter = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-operator", Name: "nvidia-dcgm-exporter"}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberReady: 1}}
	c.nodes["gpu"] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Labels: map[string]string{gpuPresent: "true"}, Annotations: map[string]string{simulatedNode: "fake"}}}
	c.nodes["gpu"].Status.Allocatable = corev1.ResourceList{gpuResource: resource.MustParse("8")}
	c.typed = append(c.typed, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "validator.trainer.kubeflow.org"},
		Webhooks:   []admissionv1.ValidatingWebhook{{ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "kubeflow", Name: "trainer"}}}},
	}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"}})
	for _, o := range [][4]string{ // apiVersion, kind, name, the condition that holds
		{"nvidia.com/v1", "ClusterPolicy", "cluster-policy", ""},
		{"resource.k8s.io/v1", "DeviceClass", "gpu.nvidia.com", ""},
		{"scheduling.run.ai/v2", "Queue", "default", ""},
		{"gateway.networking.k8s.io/v1", "GatewayClass", "kgateway", "Accepted"},
		{"gateway.networking.k8s.io/v1", "Gateway", "inference", "Programmed"},
		{"monitoring.coreos.com/v1", "Prometheus", "prometheus", "Available"},
		{"apiregistration.k8s.io/v1", "APIService", "v1beta1.custom.metrics.k8s.io", "Available"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "podgroups.scheduling.run.ai", "Established"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "queues.scheduling.run.ai", "Established"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "inferencepools.inference.networking.x-k8s.io", "Established"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "trainjobs.trainer.kubeflow.org", "Established"},
	} {
		made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o[0], "kind": o[1], "metadata": map[string]any{"name": o[2]}}}
		if o[3] != "" {
			made.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": o[3], "status": "True"}}}
		}
		if o[1] == "ClusterPolicy" {
			made.Object["status"] = map[string]any{"state": "ready"}
		}
		c.dynamic[o[1]+" "+o[2]] = made
	}
	return c
}

func (c *cluster) inputs(t *testing.T) Inputs {
	t.Helper()
	r, err := recipe.ReadResult("r.yaml", []byte(clusterRecipe))
	if err != nil {
		t.Fatal(err)
	}
	objects := c.typed
	for _, n := range c.nodes {
		objects = append(objects, n)
	}
	for _, w := range c.workloads {
		objects = append(objects, w)
	}
	if c.exporter != nil {
		objects = append(objects, c.exporter)
	}
	kube := fake.NewClientset(objects...)
	kube.Resources = []*metav1.APIResourceList{
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Namespaced: true}}},
		{GroupVersion: "nvidia.com/v1", APIResources: []metav1.APIResource{{Name: "clusterpolicies", Kind: "ClusterPolicy"}}},
		{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "deviceclasses", Kind: "DeviceClass"}}},
	}
	if c.forbidden != "" {
		kube.PrependReactor("list", c.forbidden, func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: c.forbidden}, "", errors.New("the Role lacks it"))
		})
	}
	kinds := map[schema.GroupVersionResource]string{
		crdKind: "CustomResourceDefinitionList", apiServiceKind: "APIServiceList", policyKind: "ClusterPolicyList", queueKind: "QueueList", classKind: "GatewayClassList", gatewayKind: "GatewayList",
		prometheusKind: "PrometheusList", nodePoolKind: "NodePoolList", {Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}: "DeviceClassList",
		{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}: "ResourceSliceList", {Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList",
	}
	var others []runtime.Object
	for key, o := range c.dynamic {
		if key == "Gateway inference" { // the fake client guesses another plural
			continue
		}
		others = append(others, o)
	}
	for _, w := range c.workloads {
		others = append(others, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": w.Namespace, "name": w.Name}}})
	}
	in := Inputs{Recipe: r, Kube: kube, Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, others...)}
	if g := c.dynamic["Gateway inference"]; g != nil {
		if _, err := in.Dynamic.Resource(gatewayKind).Create(t.Context(), g, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if c.snapshot != "" {
		in.Snapshot = snapshotOf(t, c.snapshot)
	}
	return in
}

// condition sets the only condition of an object.
func (c *cluster) condition(key, status string) {
	list := c.dynamic[key].Object["status"].(map[string]any)["conditions"].([]any)
	list[0].(map[string]any)["status"], list[0].(map[string]any)["message"] = status, "for a reason"
}

// On a healthy cluster every check passes, except for those that need hardware.
func TestChecksHold(t *testing.T) {
	in := healthy().inputs(t)
	for _, c := range Table() {
		got := outcome(t, c.Name, in)
		want := result.StepPassed
		if c.Name == "nccl-all-reduce-bw" || c.Name == "check-nvidia-smi" {
			want = result.StepSkipped
		}
		if got.Status != want {
			t.Errorf("%s: got %+v, want %s", c.Name, got, want)
		}
	}
	if got := outcome(t, "dra-support", in).Message; !strings.Contains(got, "not checked, since the nodes are simulated: ResourceSlices") {
		t.Errorf("that no simulated node publishes devices is not said: %s", got)
	}
	published := healthy()
	published.dynamic["ResourceSlice n-gpu.nvidia.com"] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": map[string]any{"name": "n-gpu.nvidia.com"}, "spec": map[string]any{"driver": "gpu.nvidia.com"}}}
	if got := outcome(t, "dra-support", published.inputs(t)).Message; !strings.Contains(got, "1 ResourceSlice published") {
		t.Errorf("devices of simulated nodes are not counted: %s", got)
	}
	since := healthy().inputs(t) // July the gateway has another name
	for i := range since.Recipe.ComponentRefs {
		ref := &since.Recipe.ComponentRefs[i]
		ref.Name = strings.Replace(ref.Name, "kgateway", "agentgateway", 1)
	}
	if got := outcome(t, "inference-gateway", since); got.Status != result.StepPassed || got.Component != "agentgateway" {
		t.Errorf("agentgateway: got %+v", got)
	}
	if got := outcome(t, "accelerator-metrics", in).Message; !strings.Contains(got, "not checked, since the nodes are simulated: the counters") {
		t.Errorf("what was not seen is not said: %s", got)
	}
}

// Each check fails for what it is there for, and names the component.
func TestChecksFail(t *testing.T) {
	for name, c := range map[string]struct {
		check, component, want string
		breaks                 func(*cluster)
	}{
		"a pod is not ready": {"operator-health", "kgateway", "Deployment kgateway-system/kgateway: 0 of 1 pods are ready", func(c *cluster) { c.workloads["kgateway-system/kgateway"].Status.AvailableReplicas = 0 }},
		"a stale status":     {"operator-health", "kgateway", "its controller has not seen its last change", func(c *cluster) { c.workloads["kgateway-system/kgateway"].Generation = 3 }},
		"an old version":     {"platform-health", "kgateway", "0 of 1 pods are of its last version", func(c *cluster) { c.workloads["kgateway-system/kgateway"].Status.UpdatedReplicas = 0 }},
		"no operator":        {"operator-health", "gpu-operator", "namespace gpu-operator has no workload of gpu-operator with gpu-operator in its name", func(c *cluster) { delete(c.workloads, "gpu-operator/gpu-operator") }},
		"policy": {"operator-health", "gpu-operator", `ClusterPolicy cluster-policy is not ready: its state is "notReady"`, func(c *cluster) {
			c.dynamic["ClusterPolicy cluster-policy"].Object["status"] = map[string]any{"state": "notReady"}
		}},
		"no policy": {"gpu-operator-health", "gpu-operator", "the cluster has no ClusterPolicy", func(c *cluster) { delete(c.dynamic, "ClusterPolicy cluster-policy") }},
		"missing":   {"expected-resources", "gpu-operator", "ClusterPolicy cluster-policy is missing", func(c *cluster) { delete(c.dynamic, "ClusterPolicy cluster-policy") }},
		"not ready": {"expected-resources", "gpu-operator", "Deployment gpu-operator/gpu-operator: 0 of 1", func(c *cluster) { c.workloads["gpu-operator/gpu-operator"].Status.AvailableReplicas = 0 }},
		"another version": {"gpu-operator-version", "gpu-operator", "has version v24.9.0, want v25.10.1", func(c *cluster) {
			c.workloads["gpu-operator/gpu-operator"].Labels = map[string]string{"app.kubernetes.io/version": "v24.9.0"}
		}},
		"no version":          {"gpu-operator-version", "gpu-operator", "no Deployment gpu-operator with a version", func(c *cluster) { delete(c.workloads, "gpu-operator/gpu-operator") }},
		"no GPUs":             {"gpu-hardware-detection", "gpu-operator", "offers no nvidia.com/gpu", func(c *cluster) { c.nodes["gpu"].Status.Allocatable = nil }},
		"no GPU nodes":        {"gpu-hardware-detection", "", "no node has the label", func(c *cluster) { c.nodes["gpu"].Labels = nil }},
		"no classes":          {"dra-support", "nvidia-dra-driver-gpu", "no DeviceClass", func(c *cluster) { delete(c.dynamic, "DeviceClass gpu.nvidia.com") }},
		"no slices":           {"dra-support", "nvidia-dra-driver-gpu", "has published no ResourceSlice", func(c *cluster) { c.nodes["gpu"].Annotations = nil }},
		"no queue":            {"gang-scheduling", "kai-scheduler", "there is no Queue", func(c *cluster) { delete(c.dynamic, "Queue default") }},
		"no scheduler":        {"gang-scheduling", "kai-scheduler", "no workload of kai-scheduler", func(c *cluster) { delete(c.workloads, "kai-scheduler/kai-scheduler-default") }},
		"no groups":           {"gang-scheduling", "kai-scheduler", "no CRD podgroups", func(c *cluster) { delete(c.dynamic, "CustomResourceDefinition podgroups.scheduling.run.ai") }},
		"no exporter":         {"accelerator-metrics", "gpu-operator", "no workload of gpu-operator with dcgm-exporter in its name", func(c *cluster) { c.exporter = nil }},
		"exporter on no node": {"accelerator-metrics", "gpu-operator", "selects no node", func(c *cluster) { c.exporter.Status = appsv1.DaemonSetStatus{} }},
		"no service":          {"accelerator-metrics", "gpu-operator", "has no Service of dcgm-exporter", func(c *cluster) { c.nodes["gpu"].Annotations = nil }},
		"no Prometheus":       {"ai-service-metrics", "kube-prometheus-stack", "the cluster has no Prometheus", func(c *cluster) { delete(c.dynamic, "Prometheus prometheus") }},
		"no metrics":          {"ai-service-metrics", "prometheus-adapter", "is not Available: for a reason", func(c *cluster) { c.condition("APIService v1beta1.custom.metrics.k8s.io", "False") }},
		"no metrics for HPAs": {"pod-autoscaling", "prometheus-adapter", "no APIService", func(c *cluster) { delete(c.dynamic, "APIService v1beta1.custom.metrics.k8s.io") }},
		"no metric at all":    {"pod-autoscaling", "prometheus-adapter", "has no metric", func(c *cluster) { c.nodes["gpu"].Annotations = nil }},
		"no autoscaler":       {"cluster-autoscaling", "", "nothing scales the cluster", func(c *cluster) { delete(c.workloads, "kube-system/cluster-autoscaler") }},
		"broken autoscaler":   {"cluster-autoscaling", "", "cluster-autoscaler: 0 of 1", func(c *cluster) { c.workloads["kube-system/cluster-autoscaler"].Status.AvailableReplicas = 0 }},
		"no gateway":          {"inference-gateway", "kgateway", "the cluster has no Gateway", func(c *cluster) { delete(c.dynamic, "Gateway inference") }},
		"class refused":       {"inference-gateway", "kgateway", "GatewayClass kgateway is not Accepted: for a reason", func(c *cluster) { c.condition("GatewayClass kgateway", "False") }},
		"no pools": {"inference-gateway", "kgateway-crds", "no CRD inferencepools", func(c *cluster) {
			delete(c.dynamic, "CustomResourceDefinition inferencepools.inference.networking.x-k8s.io")
		}},
		"no webhook": {"robust-controller", "kubeflow-trainer", "no ValidatingWebhookConfiguration", func(c *cluster) { c.typed = c.typed[1:] }},
		"a mount": {"secure-accelerator-access", "", "pod default/job mounts /dev/nvidia0", func(c *cluster) {
			c.typed[1].(*corev1.Pod).Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/dev/nvidia0"}}}}
		}},
		"privileged": {"secure-accelerator-access", "", "is privileged", func(c *cluster) {
			yes := true
			c.typed[1].(*corev1.Pod).Spec.Containers = []corev1.Container{{SecurityContext: &corev1.SecurityContext{Privileged: &yes}}}
		}},
		"no permission": {"operator-health", "", "the check operator-health needs a permission that its Role lacks: deployments is forbidden", func(c *cluster) { c.forbidden = "deployments" }},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := healthy()
			c.breaks(cluster)
			got := outcome(t, c.check, cluster.inputs(t))
			if got.Status != result.StepFailed || !strings.Contains(got.Message+strings.Join(got.Details, "\n"), c.want) || got.Component != c.component {
				t.Errorf("got %+v, want component %q, %q", got, c.component, c.want)
			}
		})
	}
}

// A check of something that the cluster cannot show is skipped, with the reason.
func TestChecksSkip(t *testing.T) {
	real := healthy()
	real.nodes["gpu"].Annotations = nil
	if got := outcome(t, "nccl-all-reduce-bw", real.inputs(t)); got.Status != result.StepSkipped || !strings.Contains(got.Message, "run all_reduce_perf of nccl-tests") {
		t.Errorf("got %+v", got)
	}
	if got := outcome(t, "check-nvidia-smi", real.inputs(t)); got.Status != result.StepSkipped || !strings.Contains(got.Message, "aicr snapshot --agent") {
		t.Errorf("got %+v", got)
	}
	real.snapshot = "- {type: GPU, subtypes: [{subtype: smi, data: {driver-version: 580.82.07}}]}\n"
	if got := outcome(t, "check-nvidia-smi", real.inputs(t)); got.Status != result.StepPassed || got.Actual != "580.82.07" {
		t.Errorf("got %+v", got)
	}
	in := healthy().inputs(t)
	in.Recipe.ComponentRefs = nil
	for _, name := range []string{"expected-resources", "robust-controller", "gpu-operator-version"} {
		if got := outcome(t, name, in); got.Status != result.StepSkipped {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got := outcome(t, "operator-health", in); got.Status != result.StepFailed || got.Message != "nothing was found to check" {
		t.Errorf("a check that finds nothing: got %+v", got)
	}
	gke := healthy()
	delete(gke.workloads, "kube-system/cluster-autoscaler")
	in = gke.inputs(t)
	in.Recipe.Criteria.Service = "gke"
	if got := outcome(t, "cluster-autoscaling", in); got.Status != result.StepSkipped {
		t.Errorf("got %+v", got)
	}
}

// A failed check that knows a more precise line of the recipe than the one that requires the check
// names both.
func TestPlace_ExpectedResource(t *testing.T) {
	made, err := recipe.ReadResult("r.yaml", []byte(`apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeResult
metadata: {name: r, appliedOverlays: [base]}
criteria: {service: eks}
componentRefs:
- name: gpu-operator
  namespace: gpu-operator
  type: Helm
  expectedResources:
  - {kind: Deployment, name: gpu-operator}
  - {kind: Deployment, name: absent}
  - {kind: Widget, name: unknown}
deploymentOrder: [gpu-operator]
validation:
  deployment: {checks: [expected-resources]}
`))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(made, []Phase{Deployment})
	if err != nil {
		t.Fatal(err)
	}
	list, err := plan.Run(t.Context(), Direct{}, healthy().inputs(t))
	if err != nil {
		t.Fatal(err)
	}
	c := list[0]
	if c.Place != (result.Place{File: "r.yaml", Line: 11}) || c.Message != "Deployment gpu-operator/absent is missing (and 1 more)" {
		t.Errorf("got %+v", c)
	}
	details := strings.Join(c.Details, "\n")
	if !strings.HasPrefix(details, "Deployment gpu-operator/absent is missing (r.yaml:11)\nWidget unknown: ") || !strings.HasSuffix(details, " (r.yaml:12)\nthe check expected-resources is wanted by r.yaml:15") {
		t.Errorf("got %s", details)
	}
}
