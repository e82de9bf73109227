package observe

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A component's time is from its first workload to its last ready pod. What has no ready pod, or too few, lasts
// until the gate looked; what was there before the cell begins with it.
func TestSpans(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	after := func(seconds int) metav1.Time { return metav1.NewTime(begin.Add(time.Duration(seconds) * time.Second)) }
	readyAt := func(seconds int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: after(seconds)}}
		}
	}
	notReady := func(p *corev1.Pod) { p.Status.Conditions = nil }
	ended := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: after(9)}}}}
	}
	v := viewOf(t, testkit.Objects(testkit.Deployment("web"), []runtime.Object{
		testkit.DaemonSet("driver"), testkit.Job("init", ""),
		testkit.Pod("web-0", "ReplicaSet", "web", "a0", readyAt(5)), testkit.Pod("web-1", "ReplicaSet", "web", "a0", readyAt(7)),
		testkit.Pod("driver-x", "DaemonSet", "driver", "a0", notReady), testkit.Pod("init-z", "Job", "init", "a0", ended),
	})...)
	v.Taken = after(20).Time
	created := map[string]int{"Deployment ns/web": 2, "DaemonSet ns/driver": 3, "Job ns/init": -4}
	for key, seconds := range created {
		w := v.Live[key]
		w.Object.SetCreationTimestamp(after(seconds))
		w.want = len(v.PodsOf[w.UID])
		v.Live[key] = w
	}
	of := func(component string, w bundle.Workload) bundle.Workload { w.Component = component; return w }
	expected := []bundle.Workload{
		of("web", testkit.Expected("Deployment", "web", 2, "")), of("web", testkit.Expected("Deployment", "gone", 1, "")),
		of("driver", testkit.Expected("DaemonSet", "driver", -1, "")), of("init", testkit.Expected("Job", "init", 1, "")),
	}
	want := []result.Span{{Component: "init", From: 0, Until: 9000, Ready: true}, {Component: "web", From: 2000, Until: 7000, Ready: true}, {Component: "driver", From: 3000, Until: 20000}}
	if got := SpansOf(expected, v, begin); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	w := v.Live["Deployment ns/web"]
	w.want = 3
	v.Live["Deployment ns/web"] = w
	if got := SpansOf(expected[:1], v, begin); !slices.Equal(got, []result.Span{{Component: "web", From: 2000, Until: 20000}}) {
		t.Errorf("with a pod too few: got %+v", got)
	}
	if SpansOf(expected, nil, begin) != nil {
		t.Error("spans without a look at the cluster")
	}
}
