package operators_test

import (
	_ "embed"
	"reflect"
	"sort"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/operators"
)

//go:embed testdata/objects/prometheus_cr.yaml
var prometheusCR string

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return obj
}

func sets(t *testing.T, objs []*unstructured.Unstructured) []appsv1.StatefulSet {
	t.Helper()
	var out []appsv1.StatefulSet
	for _, o := range objs {
		var s appsv1.StatefulSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &s, true); err != nil {
			t.Fatalf("%s %s is not a valid StatefulSet: %v", o.GetKind(), o.GetName(), err)
		}
		out = append(out, s)
	}
	return out
}

func TestSynthesizePrometheus(t *testing.T) {
	cr := parse(t, prometheusCR)
	before := cr.DeepCopy()
	got := sets(t, operators.Synthesize(cr, ""))
	if !reflect.DeepEqual(cr, before) {
		t.Error("Synthesize changed its argument")
	}
	if len(got) != 1 {
		t.Fatalf("got %d StatefulSets, want 1", len(got))
	}
	s := got[0]
	if s.Name != "prometheus-kps" || s.Namespace != "monitoring" || *s.Spec.Replicas != 2 {
		t.Errorf("got %s/%s with %d replicas", s.Namespace, s.Name, *s.Spec.Replicas)
	}
	pod := s.Spec.Template.Spec
	if pod.NodeSelector["aicr.nvidia.com/node-type"] != "system" || len(pod.Tolerations) != 1 || pod.ServiceAccountName != "kps-sa" {
		t.Errorf("scheduling is not the resource's: %+v", pod)
	}
	if q := pod.Containers[0].Resources.Requests.Cpu().String(); q != "500m" {
		t.Errorf("cpu request %s, want 500m", q)
	}
	if pod.Containers[0].Image != "quay.io/prometheus/prometheus:v3.1.0" {
		t.Errorf("image %s", pod.Containers[0].Image)
	}
	for k, v := range s.Spec.Selector.MatchLabels {
		if s.Spec.Template.Labels[k] != v {
			t.Errorf("selector label %s=%s is not on the pods: the API server would refuse the StatefulSet", k, v)
		}
	}
	if s.Spec.Template.Labels["team"] != "infra" || s.Spec.Template.Annotations["note"] != "1" {
		t.Error("podMetadata is lost")
	}
	if len(s.Spec.VolumeClaimTemplates) != 1 {
		t.Fatalf("got %d claims, want 1", len(s.Spec.VolumeClaimTemplates))
	}
	claim := s.Spec.VolumeClaimTemplates[0]
	if claim.Name != "prometheus-kps-db" || claim.Spec.Resources.Requests.Storage().String() != "50Gi" || len(claim.Spec.AccessModes) != 1 {
		t.Errorf("claim %+v", claim)
	}
	if pod.Containers[0].VolumeMounts[0].Name != claim.Name {
		t.Error("the claim is not mounted")
	}
}

func TestSynthesize(t *testing.T) {
	for _, test := range []struct {
		name, cr string
		want     []string
		replicas int32
	}{
		{"defaults", "{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: a, namespace: m}}", []string{"prometheus-a"}, 1},
		{"null storage", "{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: a, namespace: m}, spec: {storage: {emptyDir: null}}}", []string{"prometheus-a"}, 1},
		{"shards", "{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: a, namespace: m}, spec: {shards: 2}}", []string{"prometheus-a", "prometheus-a-shard-1"}, 1},
		{"no replicas", "{apiVersion: monitoring.coreos.com/v1, kind: Alertmanager, metadata: {name: b, namespace: m}, spec: {replicas: 0}}", []string{"alertmanager-b"}, 0},
		{"alertmanager", "{apiVersion: monitoring.coreos.com/v1, kind: Alertmanager, metadata: {name: b, namespace: m}, spec: {replicas: 3}}", []string{"alertmanager-b"}, 3},
		{"paused", "{apiVersion: monitoring.coreos.com/v1, kind: Alertmanager, metadata: {name: b, namespace: m}, spec: {paused: true}}", nil, 0},
		{"other kind", "{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: b, namespace: m}}", nil, 0},
		{"other version", "{apiVersion: monitoring.coreos.com/v1alpha1, kind: Prometheus, metadata: {name: b, namespace: m}}", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var names []string
			for _, s := range sets(t, operators.Synthesize(parse(t, test.cr), "")) {
				names = append(names, s.Name)
				if *s.Spec.Replicas != test.replicas {
					t.Errorf("%d replicas, want %d", *s.Spec.Replicas, test.replicas)
				}
			}
			if !reflect.DeepEqual(names, test.want) {
				t.Errorf("got %v, want %v", names, test.want)
			}
		})
	}
}

func TestReason_EveryKind(t *testing.T) {
	for _, gvk := range operators.Kinds() {
		if operators.Reason(gvk) == "" {
			t.Errorf("%s has no reason", gvk)
		}
	}
}

func clusterPolicy(t *testing.T, spec string) map[string]*unstructured.Unstructured {
	t.Helper()
	made := map[string]*unstructured.Unstructured{}
	for _, o := range operators.Synthesize(parse(t, "{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: cluster-policy}, spec: "+spec+"}"), "gpu-operator") {
		made[o.GetKind()+" "+o.GetName()] = o
	}
	return made
}

// What GPU Operator makes of its policy: the RuntimeClass that others name, and the operands where
// the node's labels have them.
func TestSynthesizeClusterPolicy(t *testing.T) {
	made := clusterPolicy(t, `{cdi: {enabled: false}, migManager: {enabled: false}, driver: {useNvidiaDriverCRD: true, enabled: true},
		daemonsets: {tolerations: [{operator: Exists}], priorityClassName: high, labels: {team: a}}}`)
	var got []string
	for id := range made {
		got = append(got, id)
	}
	sort.Strings(got)
	want := []string{
		"DaemonSet gpu-feature-discovery", "DaemonSet nvidia-container-toolkit-daemonset", "DaemonSet nvidia-dcgm-exporter", "DaemonSet nvidia-device-plugin-daemonset",
		"DaemonSet nvidia-operator-validator", "RuntimeClass nvidia", "ServiceAccount nvidia-container-toolkit", "ServiceAccount nvidia-dcgm-exporter",
		"ServiceAccount nvidia-device-plugin", "ServiceAccount nvidia-gpu-feature-discovery", "ServiceAccount nvidia-operator-validator",
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q", got)
	}
	for id, o := range made {
		if o.GetKind() != "DaemonSet" {
			continue
		}
		var d appsv1.DaemonSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &d, true); err != nil {
			t.Fatalf("%s is not valid: %v", id, err)
		}
		pod := d.Spec.Template.Spec
		if d.Namespace != "gpu-operator" || made["ServiceAccount "+pod.ServiceAccountName].GetNamespace() != "gpu-operator" {
			t.Errorf("%s: namespace %s, service account %s: the API server would refuse its pods", id, d.Namespace, pod.ServiceAccountName)
		}
		if pod.PriorityClassName != "high" || len(pod.Tolerations) != 1 || pod.Tolerations[0].Key != "" || d.Spec.Template.Labels["team"] != "a" {
			t.Errorf("%s: the policy's settings for all operands are lost: %+v", id, pod)
		}
		for label, value := range pod.NodeSelector {
			if operators.GPUDeployLabels()[label] != value {
				t.Errorf("%s: no node has %s=%s", id, label, value)
			}
		}
		if d.Spec.Selector.MatchLabels["app"] != d.Spec.Template.Labels["app"] {
			t.Errorf("%s: the selector does not match its pods", id)
		}
		if native := d.Name == "nvidia-container-toolkit-daemonset"; (pod.RuntimeClassName == nil) != native {
			t.Errorf("%s: runtime class %v", id, pod.RuntimeClassName)
		}
	}
	if made := clusterPolicy(t, "{}"); made["RuntimeClass nvidia-cdi"] == nil || made["DaemonSet nvidia-driver-daemonset"] == nil || made["DaemonSet nvidia-dcgm"] != nil {
		t.Errorf("defaults: %v", made)
	}
	if made := clusterPolicy(t, "{operator: {runtimeClass: mine}}"); made["RuntimeClass mine"] == nil {
		t.Errorf("a RuntimeClass of another name: %v", made)
	}
	chart := parse(t, "{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: p, annotations: {"+operators.ChartMadeAnnotation+": chart}}}")
	if made := operators.Synthesize(chart, "x"); made != nil {
		t.Errorf("the simulated chart has the operands itself, and the stand-in makes them again: %v", made)
	}
}
