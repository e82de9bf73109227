package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	chartrender "github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/testkit/embeddedtest"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

const (
	// image is the charts'; its program here is this test binary.
	image      = "registry.example.com/gpu-scheduler:1.0.0"
	repository = "../.."
)

func TestMain(m *testing.M) {
	workers.Serve(sandbox.Hidden(), chartrender.Hidden())
	if len(os.Args) > 1 && slices.Contains([]string{"run", "ready", "check"}, os.Args[1]) { // the container of a pod
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// stackTest is a cluster whose pods with the image run.
type stackTest struct {
	t       *testing.T
	cluster infra.Cluster
	*infra.Clients
	logs string
}

// on is the same for a subtest.
func (s stackTest) on(t *testing.T) stackTest { s.t = t; return s }

// TestOnTheRealStack causes every line of the documentation's section about troubleshooting, on one
// cluster: first with the scheduler alone, then with objects that Argo CD delivers.
func TestOnTheRealStack(t *testing.T) {
	testskip.Short(t, "it starts a cluster")
	t.Parallel()
	infratest.Slots(t, 1)
	s := startCluster(t)
	t.Run("Scheduling", func(t *testing.T) { testScheduling(s.on(t)) })
	t.Run("ArgoCD", func(t *testing.T) { testArgoCD(s.on(t)) })
}

// startCluster has a control plane node and three with GPUs, which are called as in the examples.
func startCluster(t *testing.T) stackTest {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	platform := &embedded.Platform{
		Programs: []infra.Program{{Image: image, Path: self}},
		// The policy would reject what people apply once Argo CD runs: AppProjects, clusters,
		// ApplicationSets of other names.
		Without: embedded.Protections{Policy: true},
	}
	c, dir := embeddedtest.Start(t, platform, []*corev1.Node{node("control", 0), node("node1", 8), node("node2", 8), node("node3", 8)}, infra.ArgoCDControllers, infra.ApplicationSetControllers)
	s := stackTest{t: t, cluster: c, logs: filepath.Join(dir, "logs")}
	s.Clients = c.Clients()
	return s
}

func node(name string, gpus int64) *corev1.Node {
	capacity := corev1.ResourceList{"cpu": resource.MustParse("16"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
	labels := map[string]string{"type": "kwok", corev1.LabelHostname: name}
	if gpus > 0 {
		capacity["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	} else {
		labels["node-role.kubernetes.io/control-plane"] = ""
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

// render is a chart of this repository as objects.
func (s stackTest) render(chart, release, namespace, values string) []*unstructured.Unstructured {
	s.t.Helper()
	objects, err := render(chart, release, namespace, values)
	if err != nil {
		s.t.Fatal(err)
	}
	return objects
}

// only are the objects of a kind; except are those of no such kind.
func only(objects []*unstructured.Unstructured, kind string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
}

func except(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return slices.Contains(kinds, o.GetKind()) })
}

// eventually waits for the cluster's controllers. The machine may be busy.
func (s stackTest) eventually(what string, probe func() wait.Result) {
	s.t.Helper()
	err := wait.For(s.t.Context(), what, wait.Options{Budget: 3 * time.Minute, Interval: 200 * time.Millisecond}, func(context.Context) wait.Result { return probe() })
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s stackTest) apply(objects ...*unstructured.Unstructured) {
	s.t.Helper()
	for _, o := range objects {
		s.eventually("the API server to take "+o.GetKind()+" "+o.GetName(), func() wait.Result {
			if err := s.Apply(s.t.Context(), infra.ResourceFor(o.GroupVersionKind()), o); err != nil {
				return wait.NotYet("%v", err) // e.g. the namespace has no ServiceAccount yet
			}
			return wait.Done()
		})
	}
}

func (s stackTest) applyText(text string) {
	s.t.Helper()
	objs, err := infra.DecodeObjects([]byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply(objs...)
}

// file is one of this repository's.
func (s stackTest) file(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// log is that of all pods whose namespace and name match, joined by a -.
func (s stackTest) log(pattern string) string {
	files, _ := filepath.Glob(filepath.Join(s.logs, "pod-"+pattern+".log"))
	var all strings.Builder
	for _, f := range files {
		data, _ := os.ReadFile(f) // a deleted file has no text
		fmt.Fprintf(&all, "%s:\n%s", filepath.Base(f), data)
	}
	return all.String()
}

// wantLog waits until a log has each part.
func (s stackTest) wantLog(pattern string, parts ...string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%q in the log of %s", parts, pattern), func() wait.Result {
		text := s.log(pattern)
		for _, p := range parts {
			if !strings.Contains(text, p) {
				return wait.NotYet("it is\n%s", text)
			}
		}
		return wait.Done()
	})
}

func (s stackTest) pod(namespace, name string) *corev1.Pod {
	s.t.Helper()
	p, err := s.Kube.CoreV1().Pods(namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// wantReady waits until a pod is on the node, Ready.
func (s stackTest) wantReady(namespace, name, on string) {
	s.t.Helper()
	s.eventually("pod "+name+" to be Ready on "+on, func() wait.Result {
		p, err := s.Kube.CoreV1().Pods(namespace).Get(s.t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return wait.NotYet("it does not exist")
		}
		if err != nil {
			return wait.Never(err)
		}
		if p.Spec.NodeName != on || !ready(p) {
			return wait.NotYet("on %q, %s, %+v", p.Spec.NodeName, p.Status.Phase, p.Status.Conditions)
		}
		return wait.Done()
	})
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

// wantWaiting: the scheduler says why a pod waits, in its condition, as an event and in the log.
func (s stackTest) wantWaiting(name, why string) {
	s.t.Helper()
	s.eventually("the scheduler to say why "+name+" waits", func() wait.Result {
		for _, c := range s.pod("tests", name).Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, why) {
				return wait.Done()
			}
		}
		return wait.NotYet("%+v", s.pod("tests", name).Status.Conditions)
	})
	s.eventually("an event that says why "+name+" waits", func() wait.Result {
		list, err := s.Kube.CoreV1().Events("tests").List(s.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return wait.Never(err)
		}
		for _, e := range list.Items {
			if e.Reason == "FailedScheduling" && e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, why) {
				return wait.Done()
			}
		}
		return wait.NotYet("%+v", list.Items)
	})
	s.wantLog("system-*", "pod=tests/"+name, why)
}

// indexed is a pod that checks itself, as one of a StatefulSet with this index.
func indexed(name string, index int, spec string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: tests, labels: {apps.kubernetes.io/pod-index: "%d"}}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  %s
  containers:
  - name: check
    image: %s
    command: [/gpu-scheduler]
    args: [check, --scheduling-map=/etc/gpu-scheduler/map.yaml]
    env:
    - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: POD_INDEX, valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}}
    volumeMounts: [{name: map, mountPath: /etc/gpu-scheduler}]
  volumes: [{name: map, configMap: {name: sched-map}}]
`, name, index, spec, image)
}

const ours = "schedulerName: by-map"

// schedulingMap has what cannot be followed, from index 3 on.
//
//go:embed testdata/objects/scheduling_map.yaml
var schedulingMap string

const checkedMap = `
schedulerName: by-map
gpuScheduling:
  schedulingMap:
  - {podIndex: 0, nodeName: node1, gpuDevices: "0,1"}
  - {podIndex: 1, nodeName: node2, gpuDevices: "2"}
  - {podIndex: 2, nodeName: node3, gpuDevices: "0,1,2"}
`

// testScheduling is "GPU Scheduling Issues" and "Test Service Not Logging".
func testScheduling(s stackTest) {
	s.applyText("{apiVersion: v1, kind: Namespace, metadata: {name: system}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: tests}}\n")
	check := s.render("gpu-scheduler-check-chart", "check", "tests", checkedMap)
	s.apply(except(check, "StatefulSet")...)
	scheduler := s.render("gpu-scheduler-chart", "sched", "system", schedulingMap)
	for _, o := range only(scheduler, "ConfigMap") { // the same map for the pods below
		o = o.DeepCopy()
		o.SetNamespace("tests")
		s.apply(o)
	}

	// The scheduler does not run, and no other one places its pods.
	s.applyText(indexed("early", 0, ours))

	// It lacks its ClusterRole, and then the policy is not in force: not ready, and its log says
	// why.
	const role, policy = "ClusterRoleBinding", "MutatingAdmissionPolicyBinding"
	s.apply(except(scheduler, role, policy)...)
	s.wantLog("system-sched-*", "watch nodes: this scheduler's ServiceAccount lacks a ClusterRole that permits it; nothing is placed", `cannot list resource \"nodes\"`)
	if conditions := s.pod("tests", "early").Status.Conditions; len(conditions) > 0 {
		s.t.Errorf("a pod whose scheduler does not place anything: %+v", conditions)
	}
	s.apply(only(scheduler, role)...)
	s.wantLog("system-sched-*", "the API server does not set CUDA_VISIBLE_DEVICES by this scheduling map yet: is the MutatingAdmissionPolicy there, with its binding?")
	replicas := func() int32 {
		d, err := s.Kube.AppsV1().Deployments("system").Get(s.t.Context(), "sched", metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		return d.Status.ReadyReplicas
	}
	if n := replicas(); n != 0 {
		s.t.Errorf("%d schedulers are ready without the policy", n)
	}
	s.apply(only(scheduler, policy)...)
	s.eventually("the scheduler to be ready", func() wait.Result {
		if replicas() != 1 {
			return wait.NotYet("%s", s.log("system-*"))
		}
		return wait.Done()
	})

	// Ready means that the API server sets the variable: pods that are made now have it, and the
	// early one does not.
	s.apply(only(check, "StatefulSet")...)
	for i, on := range []string{"node1", "node2", "node3"} {
		s.wantReady("tests", fmt.Sprintf("check-%d", i), on)
	}
	s.wantLog("tests-check-2", "pod check-2 (podIndex 2) runs on node node3 with CUDA_VISIBLE_DEVICES=0,1,2, as the scheduling map says")
	s.wantWaiting("early", "CUDA_VISIBLE_DEVICES is not set in container check: the pod was made when the MutatingAdmissionPolicy of this scheduler was not in force")

	// What the map says cannot be.
	s.applyText(indexed("no-node", 3, ours) + "---" + indexed("no-device", 4, ours) + "---" + indexed("first", 5, ours) + "---" + indexed("no-entry", 9, ours))
	s.wantWaiting("no-node", "podIndex 3 is for node node4, which does not exist; nodes with GPUs: node1, node2, node3")
	s.wantWaiting("no-device", "podIndex 4 is for GPU 8 of node node1, which has 8 GPUs: 0 to 7")
	s.wantWaiting("no-entry", "podIndex 9 has no entry in the scheduling map, which has 0, 1, 2, 3, 4, 5")
	s.eventually("the pod first to be placed", func() wait.Result {
		if s.pod("tests", "first").Spec.NodeName != "node1" {
			return wait.NotYet("it is not")
		}
		return wait.Done()
	})
	s.applyText(indexed("second", 5, ours))
	s.wantWaiting("second", "podIndex 5 is for GPU 5 of node node1, which the pod tests/first has")

	// It is placed once it can be.
	if err := s.Kube.CoreV1().Pods("tests").Delete(s.t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.Kube.CoreV1().Nodes().Create(s.t.Context(), node("node4", 1), metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	for name, on := range map[string]string{"second": "node1", "no-node": "node4"} {
		s.eventually("the pod "+name+" to be placed", func() wait.Result {
			if got := s.pod("tests", name).Spec.NodeName; got != on {
				return wait.NotYet("it is on %q", got)
			}
			return wait.Done()
		})
	}

	// The check sees a pod that is elsewhere, and one without the variable: one that another
	// scheduler placed.
	s.applyText(indexed("elsewhere", 0, ours+"\n  nodeName: node2") + "---" + indexed("unset", 0, "nodeName: node1"))
	for name, why := range map[string]string{
		"elsewhere": "pod elsewhere runs on node node2, and the scheduling map has podIndex 0 on node1",
		"unset":     "pod unset: CUDA_VISIBLE_DEVICES is not set, and the scheduling map gives podIndex 0 0,1",
	} {
		s.wantLog("tests-"+name, why)
		s.eventually("the pod "+name+" to fail", func() wait.Result {
			if phase := s.pod("tests", name).Status.Phase; phase != corev1.PodFailed {
				return wait.NotYet("it is %s", phase)
			}
			return wait.Done()
		})
	}
}
