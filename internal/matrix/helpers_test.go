package matrix

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/replay"
	"github.com/nvidia/aicr-action/internal/result"
)

// Everything in these tests lives in one namespace.
const testNamespace = "ns"

// node has the labels and taints of the simulated nodes, and as much as a small one.
func node(name string, kind bundle.NodeKind) *corev1.Node {
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

// testNodes are two system nodes, s0 and s1, and two accelerated ones, a0 and a1.
func testNodes() []runtime.Object {
	return []runtime.Object{node("s0", bundle.NodeSystem), node("s1", bundle.NodeSystem), node("a0", bundle.NodeAccelerated), node("a1", bundle.NodeAccelerated)}
}

func nodeList(objs []runtime.Object) []corev1.Node {
	var nodes []corev1.Node
	for _, o := range objs {
		if n, ok := o.(*corev1.Node); ok {
			nodes = append(nodes, *n)
		}
	}
	return nodes
}

// podSpec is a template for nodes of one kind, as the recipes steer them; NodeAny tolerates everything and selects nothing.
func podSpec(kind bundle.NodeKind) corev1.PodSpec {
	spec := corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
	if kind != bundle.NodeAny {
		spec.NodeSelector = map[string]string{bundle.NodeTypeLabel: string(kind)}
	}
	return spec
}

// expected is a workload that must exist.
func expected(kind, name string, replicas int, on bundle.NodeKind) bundle.Workload {
	return bundle.Workload{
		Component: "comp", Release: "comp", Kind: kind, Namespace: testNamespace, Name: name, Replicas: replicas, Node: on,
		PodSpec: podSpec(on), Template: "comp/templates/" + strings.ToLower(kind) + ".yaml",
	}
}

func objectMeta(kind, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: types.UID(kind + "/" + name), Generation: 1}
}

func controlledBy(kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(kind + "/" + name), Controller: &yes}}
}

// deployment and its one ReplicaSet, which has the same name.
func deployment(name string) []runtime.Object {
	rs := &appsv1.ReplicaSet{ObjectMeta: objectMeta("ReplicaSet", name)}
	rs.OwnerReferences = controlledBy("Deployment", name)
	return []runtime.Object{&appsv1.Deployment{ObjectMeta: objectMeta("Deployment", name), Status: appsv1.DeploymentStatus{ObservedGeneration: 1}}, rs}
}

func statefulSet(name string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: objectMeta("StatefulSet", name), Status: appsv1.StatefulSetStatus{ObservedGeneration: 1}}
}

func daemonSet(name string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: objectMeta("DaemonSet", name), Status: appsv1.DaemonSetStatus{ObservedGeneration: 1}}
}

// job with a condition that is True, or none.
func job(name string, condition batchv1.JobConditionType) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: objectMeta("Job", name)}
	if condition != "" {
		j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "it was tried 6 times"}}
	}
	return j
}

func cronJob(name string) *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: objectMeta("CronJob", name)}
}

// pod is Running and Ready on a node; change makes it something else.
func pod(name, ownerKind, owner, on string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: objectMeta("Pod", name), Spec: corev1.PodSpec{NodeName: on},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if ownerKind != "" {
		p.OwnerReferences = controlledBy(ownerKind, owner)
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func phase(ph corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: ph} }
}

func refused(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message},
		}}
	}
}

func notReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func objects(lists ...[]runtime.Object) []runtime.Object {
	var all []runtime.Object
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func snapshotOf(t *testing.T, objs ...runtime.Object) *snapshot {
	t.Helper()
	s, err := takeSnapshot(t.Context(), fake.NewClientset(objs...))
	if err != nil {
		t.Fatalf("read a cluster of %d objects: %v", len(objs), err)
	}
	return s
}

// mustDeliver makes refs of "Kind name"; with a star in front it is a root. What comes behind "<" is what it depends on.
func mustDeliver(texts ...string) []bundle.Delivered {
	ref := func(text string) result.Ref {
		kind, name, _ := strings.Cut(text, " ")
		at := map[string][2]string{
			"Application": {infra.ApplicationGVR.Group, infra.ArgoCDNamespace}, "HelmRelease": {infra.HelmReleaseGVR.Group, infra.FluxNamespace},
			"OCIRepository": {infra.OCIRepositoryGVR.Group, infra.FluxNamespace}, "Kustomization": {infra.KustomizationGVR.Group, infra.FluxNamespace},
			"ArtifactGenerator": {infra.ArtifactGeneratorGVR.Group, infra.FluxNamespace},
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

// fakeLane says what look says, by the time since the first look.
type fakeLane struct {
	grace, sync time.Duration
	timeout     reason.Reason
	look        func(since time.Duration) (LaneState, error)

	first time.Time
}

var _ Lane = (*fakeLane)(nil)

func (l *fakeLane) Publish(context.Context, *Env) ([]bundle.Published, error) { return nil, nil }

func (l *fakeLane) Deployer() bundle.Deployer           { return bundle.Deployers()[0] }
func (l *fakeLane) Controllers() []infra.ControllerKind { return nil }
func (l *fakeLane) Evidence() LaneEvidence              { return LaneEvidence{} }
func (l *fakeLane) Install(context.Context, *Env) error { return nil }
func (l *fakeLane) Deploy(context.Context, *Env) error  { return nil }
func (l *fakeLane) TimeoutReason() reason.Reason        { return l.timeout }
func (l *fakeLane) Stop()                               {}
func (l *fakeLane) Budget(Budgets) (_, _ time.Duration) { return l.grace, l.sync }
func (l *fakeLane) ReadBack(context.Context, *Env) (record, error) {
	return record{}, nil
}
func (l *fakeLane) Look(context.Context, *Env) (LaneState, error) {
	if l.first.IsZero() {
		l.first = time.Now()
	}
	return l.look(time.Since(l.first))
}

// fakeCluster has a name, a kubeconfig that is not there, and the logs in a directory.
type fakeCluster struct{ dir string }

func (fakeCluster) Name() string               { return "fake" }
func (fakeCluster) Up(context.Context) error   { return errors.New("not a real cluster") }
func (c fakeCluster) Kubeconfig() string       { return c.dir + "/no-kubeconfig.yaml" }
func (fakeCluster) Clients() *infra.Clients    { return nil }
func (fakeCluster) Registry() infra.Registry   { return nil }
func (fakeCluster) Flux() infra.Controllers    { return nil }
func (fakeCluster) StandIns() []string         { return nil }
func (fakeCluster) Down(context.Context) error { return nil }

func (fakeCluster) ArgoCD(infra.ArgoCDOptions) infra.Controllers  { return nil }
func (fakeCluster) Died() <-chan *infra.DeathError                { return nil }
func (fakeCluster) Keep(context.Context, map[string][]byte) error { return nil }

func (c fakeCluster) Tail(_ context.Context, component string, lines int) ([]byte, error) {
	return infra.LastLines(filepath.Join(c.dir, component+".log"), lines)
}

func (c fakeCluster) CollectLogs(ctx context.Context, dir string) error {
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))
	logs := map[string]string{}
	for _, f := range files {
		logs[filepath.Base(f)] = f
	}
	return infra.CopyLogs(ctx, dir, logs)
}

func (fakeCluster) Snapshot(context.Context, string, replay.About) error {
	return errors.New("not a real cluster")
}

// testEnv is an Env whose cluster has these objects and no others.
func testEnv(kube *fake.Clientset, e bundle.Expectation) *Env {
	return &Env{
		Cell: Cell{Recipe: "demo", Deployer: "fake"}, Cluster: fakeCluster{}, Bundle: &bundle.Bundle{Expectation: e},
		// Where nothing listens; a test that gets so far as to ask says so in its error.
		Clients: &infra.Clients{Kube: kube, Discovery: kube.Discovery(), Config: &rest.Config{Host: "http://127.0.0.1:1"}},
	}
}

// wantEach fails unless got has exactly the entries whose parts are given, in that order.
func wantEach(t *testing.T, what string, got, parts []string) {
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

// wantText fails unless text has every part.
func wantText(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: want %q in:\n%s", what, part, text)
		}
	}
}

func stateName(s ItemState) string { return s.String() }

// itemStates lists items as "name state".
func itemStates(state LaneState) []string {
	var all []string
	for _, it := range state.Items {
		_, name, _ := strings.Cut(it.ID, " ")
		all = append(all, name+" "+stateName(it.State))
	}
	return all
}

// The two kinds of nodes.
const (
	sys = bundle.NodeSystem
	acc = bundle.NodeAccelerated
)

// list is objs.
func list(objs ...runtime.Object) []runtime.Object { return objs }

// parsed is YAML as an object.
func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}
