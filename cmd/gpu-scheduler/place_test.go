package main

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const testMap = `schedulingMap:
- {podIndex: 0, nodeName: a, gpuDevices: "0,1"}
- {podIndex: 1, nodeName: a, gpuDevices: "1"}
- {podIndex: 2, nodeName: b, gpuDevices: "2"}
- {podIndex: 3, nodeName: gone, gpuDevices: "0"}
- {podIndex: 4, nodeName: plain, gpuDevices: "0"}
- {podIndex: 5, nodeName: a, gpuDevices: "2,3"}
`

func testPod(name string, index int, visible string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"apps.kubernetes.io/pod-index": strconv.Itoa(index)}},
		Spec:       corev1.PodSpec{SchedulerName: "gpu-scheduler", Containers: []corev1.Container{{Name: "c"}}},
	}
	if visible != "" {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: visibleDevices, Value: visible}}
	}
	return p
}

func on(node string, p *corev1.Pod) *corev1.Pod {
	p.Spec.NodeName = node
	return p
}

// Each line is a pod that is to be placed, and what the scheduler says.
func TestPlace(t *testing.T) {
	m, err := parseMap("m.yaml", []byte(testMap))
	if err != nil {
		t.Fatal(err)
	}
	node := func(name, gpus string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"disk": "ssd"}}}
		if gpus != "" {
			n.Status.Allocatable = corev1.ResourceList{gpuResource: resource.MustParse(gpus)}
		}
		return n
	}
	others := func(gpus string) *corev1.Pod {
		p := on("a", testPod("other", 9, ""))
		p.Spec.SchedulerName = corev1.DefaultSchedulerName
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{gpuResource: resource.MustParse(gpus)}
		return p
	}
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		bound []*corev1.Pod
		node  func(*corev1.Node) // changes a
		want  string             // "": it is placed
	}{
		"free":                   {pod: testPod("p", 0, "0,1")},
		"beside another":         {pod: testPod("p", 5, "2,3"), bound: []*corev1.Pod{on("a", testPod("q", 0, "0,1"))}},
		"itself":                 {pod: testPod("p", 0, "0,1"), bound: []*corev1.Pod{on("a", testPod("p", 0, "0,1"))}},
		"taken on another node":  {pod: testPod("p", 0, "0,1"), bound: []*corev1.Pod{on("b", testPod("q", 0, "0,1"))}},
		"taken":                  {pod: testPod("p", 1, "1"), bound: []*corev1.Pod{on("a", testPod("q", 0, "0,1"))}, want: "podIndex 1 is for GPU 1 of node a, which the pod ns/q has"},
		"no node":                {pod: testPod("p", 3, "0"), want: "podIndex 3 is for node gone, which does not exist; nodes with GPUs: a, b"},
		"no device":              {pod: testPod("p", 2, "2"), want: "podIndex 2 is for GPU 2 of node b, which has 2 GPUs: 0 to 1"},
		"no GPUs":                {pod: testPod("p", 4, "0"), want: "podIndex 4 is for GPU 0 of node plain, which has no GPUs (nvidia.com/gpu)"},
		"no entry":               {pod: testPod("p", 7, "0"), want: "podIndex 7 has no entry in the scheduling map, which has 0, 1, 2, 3, 4, 5"},
		"no variable":            {pod: testPod("p", 0, ""), want: "CUDA_VISIBLE_DEVICES is not set in container c: the pod was made when the MutatingAdmissionPolicy of this scheduler was not in force"},
		"variable of an old map": {pod: testPod("p", 0, "7"), want: `CUDA_VISIBLE_DEVICES is "7" in container c, and the scheduling map gives podIndex 0 "0,1"`},
		"cordoned":               {pod: testPod("p", 0, "0,1"), node: func(n *corev1.Node) { n.Spec.Unschedulable = true }, want: "podIndex 0 is for node a, which is cordoned"},
		"tainted": {pod: testPod("p", 0, "0,1"), node: func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}}
		}, want: "which has the taint k=v:NoSchedule, which the pod does not tolerate"},
		"tainted softly": {pod: testPod("p", 0, "0,1"), node: func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectPreferNoSchedule}}
		}},
		"GPUs of other schedulers, enough":     {pod: testPod("p", 0, "0,1"), bound: []*corev1.Pod{others("2")}},
		"GPUs of other schedulers, not enough": {pod: testPod("p", 0, "0,1"), bound: []*corev1.Pod{others("3")}, want: "podIndex 0 is for 2 of the 4 GPUs of node a, of which pods of other schedulers request 3"},
	} {
		t.Run(name, func(t *testing.T) {
			a := node("a", "4")
			if tt.node != nil {
				tt.node(a)
			}
			s := &state{scheduler: "gpu-scheduler", m: m, bound: tt.bound, nodes: map[string]*corev1.Node{"a": a, "b": node("b", "2"), "plain": node("plain", "")}}
			_, err := s.place(tt.pod)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}

	s := &state{scheduler: "gpu-scheduler", m: m, nodes: map[string]*corev1.Node{"a": node("a", "4")}}
	elsewhere, unnumbered := testPod("p", 0, "0,1"), testPod("p", 0, "0,1")
	elsewhere.Spec.NodeSelector = map[string]string{"disk": "hdd"}
	unnumbered.Labels = nil
	for want, pod := range map[string]*corev1.Pod{"which the pod's node selector or node affinity rules out": elsewhere, "the pod has no index": unnumbered} {
		if _, err := s.place(pod); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	job := testPod("p", 9, "0,1")
	job.Labels = map[string]string{indexOfJob: "0"}
	if e, err := s.place(job); err != nil || e.NodeName != "a" {
		t.Errorf("the pod of an indexed Job: got %v, %v", e, err)
	}
}

func TestCheck(t *testing.T) {
	m, err := parseMap("m.yaml", []byte(testMap))
	if err != nil {
		t.Fatal(err)
	}
	right := Pod{Name: "p-0", Node: "a", Index: "0", Visible: "0,1"}
	if line, err := Check(right, m); err != nil || line != "pod p-0 (podIndex 0) runs on node a with CUDA_VISIBLE_DEVICES=0,1, as the scheduling map says" {
		t.Errorf("got %q, %v", line, err)
	}
	for want, change := range map[string]func(*Pod){
		"pod p-0 runs on node b, and the scheduling map has podIndex 0 on a":                    func(p *Pod) { p.Node = "b" },
		"pod p-0: CUDA_VISIBLE_DEVICES is not set, and the scheduling map gives podIndex 0 0,1": func(p *Pod) { p.Visible = "" },
		"pod p-0: CUDA_VISIBLE_DEVICES is 1,0, and the scheduling map gives podIndex 0 0,1":     func(p *Pod) { p.Visible = "1,0" },
		"pod p-0: podIndex 8 has no entry in the scheduling map, which has 0, 1, 2, 3, 4, 5":    func(p *Pod) { p.Index = "8" },
		`pod p-0: POD_INDEX is "", and should be the number of the pod in its StatefulSet`:      func(p *Pod) { p.Index = "" },
	} {
		p := right
		change(&p)
		if line, err := Check(p, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, %v, want %q", line, err, want)
		}
	}
	both := Pod{Name: "p-0", Node: "b", Index: "0"}
	if _, err := Check(both, m); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two things are wrong: got %v", err)
	}
}
