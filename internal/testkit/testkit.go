// Package testkit builds what tests of several packages need: pods, nodes, workloads, fake clients,
// outlines of files and processes that end. Only tests import it.
package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// TestNamespace is the one namespace that everything in these tests lives in.
const TestNamespace = "ns"

// Node has the labels and taints of the simulated nodes, and as much as a small one.
func Node(name string, kind bundle.NodeKind) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{bundle.NodeTypeLabel: string(kind), corev1.LabelOSStable: "linux"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "kwok.x-k8s.io/node", Value: "fake", Effect: corev1.TaintEffectNoSchedule}}},
	}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("16"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
	if kind == bundle.NodeAccelerated {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule})
		n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("8")
	}
	return n
}

// TestNodes are two system nodes, s0 and s1, and two accelerated ones, a0 and a1.
func TestNodes() []runtime.Object {
	return []runtime.Object{Node("s0", bundle.NodeSystem), Node("s1", bundle.NodeSystem), Node("a0", bundle.NodeAccelerated), Node("a1", bundle.NodeAccelerated)}
}

// NodeList are the nodes among objs.
func NodeList(objs []runtime.Object) []corev1.Node {
	var nodes []corev1.Node
	for _, o := range objs {
		if n, ok := o.(*corev1.Node); ok {
			nodes = append(nodes, *n)
		}
	}
	return nodes
}

// podSpec is a template for nodes of one kind, as the recipes steer them; NodeAny tolerates
// everything and selects nothing.
func podSpec(kind bundle.NodeKind) corev1.PodSpec {
	spec := corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
	if kind != bundle.NodeAny {
		spec.NodeSelector = map[string]string{bundle.NodeTypeLabel: string(kind)}
	}
	return spec
}

// Expected is a workload that must exist.
func Expected(kind, name string, replicas int, on bundle.NodeKind) bundle.Workload {
	return bundle.Workload{
		Component: "comp", Release: "comp", Kind: kind, Namespace: TestNamespace, Name: name, Replicas: replicas, Node: on,
		PodSpec: podSpec(on), Template: "comp/templates/" + strings.ToLower(kind) + ".yaml",
	}
}

// ObjectMeta has a UID that is made of kind and name, and generation 1.
func ObjectMeta(kind, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: TestNamespace, Name: name, UID: types.UID(kind + "/" + name), Generation: 1}
}

// ControlledBy makes an object of ObjectMeta(kind, name) the controller.
func ControlledBy(kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(kind + "/" + name), Controller: &yes}}
}

// Deployment and its one ReplicaSet, which has the same name.
func Deployment(name string) []runtime.Object {
	rs := &appsv1.ReplicaSet{ObjectMeta: ObjectMeta("ReplicaSet", name)}
	rs.OwnerReferences = ControlledBy("Deployment", name)
	return []runtime.Object{&appsv1.Deployment{ObjectMeta: ObjectMeta("Deployment", name), Status: appsv1.DeploymentStatus{ObservedGeneration: 1}}, rs}
}

// StatefulSet whose controller has observed it.
func StatefulSet(name string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: ObjectMeta("StatefulSet", name), Status: appsv1.StatefulSetStatus{ObservedGeneration: 1}}
}

// DaemonSet whose controller has observed it.
func DaemonSet(name string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: ObjectMeta("DaemonSet", name), Status: appsv1.DaemonSetStatus{ObservedGeneration: 1}}
}

// Job with a condition that is True, or none.
func Job(name string, condition batchv1.JobConditionType) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: ObjectMeta("Job", name)}
	if condition != "" {
		j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "it was tried 6 times"}}
	}
	return j
}

// CronJob without Jobs.
func CronJob(name string) *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: ObjectMeta("CronJob", name)}
}

// Pod is Running and Ready on a node; change makes it something else.
func Pod(name, ownerKind, owner, on string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: ObjectMeta("Pod", name), Spec: corev1.PodSpec{NodeName: on},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if ownerKind != "" {
		p.OwnerReferences = ControlledBy(ownerKind, owner)
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// Phase makes it a pod in this phase, without conditions.
func Phase(ph corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: ph} }
}

// Refused makes it a pod that the scheduler found no node for, with its message.
func Refused(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message},
		}}
	}
}

// NotReady makes the condition Ready False.
func NotReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

// Objects joins lists.
func Objects(lists ...[]runtime.Object) []runtime.Object {
	var all []runtime.Object
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// MustDeliver makes refs of "Kind name"; with a star in front it is a root. What comes behind "<"
// is what it depends on.
func MustDeliver(texts ...string) []bundle.Delivered {
	ref := func(text string) result.Ref {
		kind, name, _ := strings.Cut(text, " ")
		at := map[string][2]string{
			"Application": {infra.ApplicationGVR.Group, infra.ArgoCDNamespace}, "HelmRelease": {infra.HelmReleaseGVR.Group, infra.FluxNamespace},
			"OCIRepository": {infra.OCIRepositoryGVR.Group, infra.FluxNamespace}, "Kustomization": {infra.KustomizationGVR.Group, infra.FluxNamespace},
			"ArtifactGenerator": {infra.ArtifactGeneratorGVR.Group, infra.FluxNamespace}, "GitRepository": {infra.GitRepositoryGVR.Group, infra.FluxNamespace},
		}[kind]
		return result.Ref{Group: at[0], Kind: kind, Namespace: at[1], Name: name}
	}
	var list []bundle.Delivered
	for _, text := range texts {
		own, after, _ := strings.Cut(text, " < ")
		d := bundle.Delivered{Ref: ref(strings.TrimPrefix(own, "*")), Root: strings.HasPrefix(own, "*")}
		if after != "" {
			for _, on := range strings.Split(after, ", ") {
				d.DependsOn = append(d.DependsOn, ref(on))
			}
		}
		list = append(list, d)
	}
	return list
}

// WantEach fails unless got has exactly the entries whose parts are given, in that order.
func WantEach(t *testing.T, what string, got, parts []string) {
	t.Helper()
	if len(got) != len(parts) {
		t.Errorf("%s: got %d entries %q, want %d with %q", what, len(got), got, len(parts), parts)
		return
	}
	for i := range got {
		if !strings.Contains(got[i], parts[i]) {
			t.Errorf("%s: got %q, want it to contain %q", what, got[i], parts[i])
		}
	}
}

// WantText fails unless text has every part.
func WantText(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: want %q in:\n%s", what, part, text)
		}
	}
}

// The two kinds of nodes.
const (
	Sys = bundle.NodeSystem
	Acc = bundle.NodeAccelerated
)

// List is objs.
func List(objs ...runtime.Object) []runtime.Object { return objs }

// Parsed is YAML as an object.
func Parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// ReadFile is the content of a file in a directory; one that is missing or empty fails the test.
func ReadFile(t testing.TB, dir, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) == 0 {
		t.Errorf("%s is empty", name)
	}
	return string(raw)
}
