package gate

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// large is a cluster that is watched, with a Deployment whose one pod is as it is given.
func large(pod *corev1.Pod) []runtime.Object {
	var nodes []runtime.Object
	for i := range watchFrom {
		nodes = append(nodes, testkit.Node(fmt.Sprintf("extra-%d", i), bundle.NodeSystem))
	}
	return testkit.Objects(nodes, testkit.Deployment("d"), testkit.List(pod))
}

func oneDeployment() []bundle.Workload {
	return []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)}
}

func notReady() *corev1.Pod {
	return testkit.Pod("d-1", "ReplicaSet", "d", "s0", func(p *corev1.Pod) { p.Status.Conditions = nil })
}

func ready() *corev1.Pod { return testkit.Pod("d-1", "ReplicaSet", "d", "s0") }

// listsOf counts how often the gate itself lists all pods. A watch starts with a list too, which
// has a resource version.
func listsOf(kube *fake.Clientset, counted *int) {
	kube.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if list, ok := a.(clienttesting.ListActionImpl); ok && list.ListOptions.ResourceVersion == "" {
			*counted++
		}
		return false, nil, nil
	})
}

func becomesReady(after time.Duration) func(*fake.Clientset) {
	return func(kube *fake.Clientset) {
		time.AfterFunc(after, func() {
			_, _ = kube.CoreV1().Pods(testkit.TestNamespace).Update(context.Background(), ready(), metav1.UpdateOptions{})
		})
	}
}

// A large cluster is watched: while its pods become ready they are listed now and then, and the
// verdict is that of a list.
func TestWatched_LargeCluster(t *testing.T) {
	lists := 0
	r := gateCase{poll: always(good("a")), workloads: oneDeployment(), live: large(notReady()), kube: func(kube *fake.Clientset) {
		listsOf(kube, &lists)
		becomesReady(100 * time.Second)(kube)
	}}.run(t)
	r.passed(t, 1)
	r.within(t, 100*time.Second, 102*time.Second)
	if lists > 12 {
		t.Errorf("all pods were listed %d times in 100 s, want about one in %s", lists, listEvery)
	}
	if len(r.told) < 1 || r.told[0] != "1 workloads not ready; Deployment ns/d: 0 of 1 pods as expected (pod ns/d-1 on node s0 is Running but not Ready)" {
		t.Errorf("told %q", r.told)
	}

	lists = 0
	small := gateCase{poll: always(good("a")), workloads: oneDeployment(), live: testkit.Objects(testkit.Deployment("d"), testkit.List(notReady())), kube: func(kube *fake.Clientset) {
		listsOf(kube, &lists)
		becomesReady(100 * time.Second)(kube)
	}}.run(t)
	small.passed(t, 1)
	if lists < 100 {
		t.Errorf("a cluster of usual size was listed %d times in 100 s, want each second", lists)
	}
}

// A slow poll is repeated less often: polling must not slow down what it waits for.
func TestWatched_SlowPolls(t *testing.T) {
	kube := fake.NewClientset(testkit.Objects(testkit.TestNodes(), large(notReady()))...)
	g := New(lanetest.Env(kube, bundle.Expectation{Workloads: oneDeployment()}), &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
	watches := observe.NewWatches(t.Context(), kube)
	defer watches.Stop()
	g.watcher = observe.Watch(watches)
	for _, ok := g.watcher.View(); !ok; _, ok = g.watcher.View() {
		time.Sleep(time.Millisecond)
	}
	state, _ := items(good("a"))
	for name, tc := range map[string]struct {
		since, took time.Duration
		lists       bool
	}{
		"a quick list is repeated":             {listEvery + time.Second, time.Second, true},
		"a slow one is not":                    {listEvery + time.Second, 5 * time.Second, false},
		"a slow one is, after a while":         {idle*5*time.Second + time.Second, 5 * time.Second, true},
		"a quick list is not repeated at once": {listEvery / 2, 0, false},
	} {
		g.listed, g.listTook = time.Now().Add(-tc.since), tc.took
		if got := g.checkWatched(state); (got == "") != tc.lists {
			t.Errorf("%s: got %q", name, got)
		}
	}
	g.listed, g.watchCheckTook, g.watchChecked = time.Now(), time.Hour, time.Now()
	g.lastReport = observe.WorkloadReport{Waiting: []observe.WaitingWorkload{{Workload: &g.Env.Bundle.Expectation.Workloads[0], Text: "as it was"}}}
	testkit.WantText(t, "after a checkWatched that took long", g.checkWatched(state), "as it was")
	g.watchChecked = time.Now().Add(-idle * time.Hour)
	testkit.WantText(t, "a while after one that took long", g.checkWatched(state), "0 of 1 pods as expected")
	failed, _ := items(is("a", lane.ItemFailed, "no"))
	if got := g.checkWatched(failed); got != "" {
		t.Errorf("with a release that failed: got %q, want a look at everything", got)
	}
}

// What the watch shows never passes a cell, and never fails one: only a list does.
func TestWatched_NoDecision(t *testing.T) {
	lies := func(shown *corev1.Pod) func(*fake.Clientset) {
		return func(kube *fake.Clientset) {
			kube.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
				w := watch.NewFakeWithChanSize(1, false)
				shown.ResourceVersion = "9"
				w.Modify(shown)
				return true, w, nil
			})
		}
	}
	late := gateCase{timeout: reason.SchedulingFailed, sync: 60 * time.Second, poll: always(good("a")), workloads: oneDeployment(), live: large(notReady()), kube: lies(ready())}.run(t)
	late.failed(t, reason.WorkloadFailed, "0 of 1 pods as expected")
	late.within(t, 60*time.Second, 61*time.Second)

	failed := ready()
	failed.Status.Phase = corev1.PodFailed
	gateCase{poll: always(good("a")), workloads: oneDeployment(), live: large(notReady()), kube: func(kube *fake.Clientset) {
		lies(failed)(kube)
		becomesReady(40 * time.Second)(kube)
	}}.run(t).passed(t, 1)
}

// A watch without news is believed for a limited time.
func TestWatched_StalledWatch(t *testing.T) {
	r := gateCase{poll: always(good("a")), workloads: oneDeployment(), live: large(notReady()), kube: func(kube *fake.Clientset) {
		kube.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) { return true, watch.NewFake(), nil })
		becomesReady(40 * time.Second)(kube)
	}}.run(t)
	r.passed(t, 1)
	r.within(t, 40*time.Second, 40*time.Second+listEvery+2*time.Second)
}

// A pod that cannot be scheduled, and one that the API server rejects, are found on a large cluster
// as on any other.
func TestWatched_PendingPods(t *testing.T) {
	unschedulable := testkit.Pod("d-1", "ReplicaSet", "d", "", func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/204 nodes are available: no room."},
		}}
	})
	r := gateCase{poll: always(good("a")), workloads: oneDeployment(), live: large(unschedulable)}.run(t)
	r.failed(t, reason.SchedulingFailed, "Deployment ns/d (comp): 0/204 nodes are available")
	r.within(t, pendingFor, pendingFor+2*time.Second)

	quota := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: testkit.TestNamespace, Name: "e"}, Reason: "FailedCreate", Message: `Error creating: pods "d-1" is forbidden: no such class`,
		InvolvedObject: corev1.ObjectReference{Kind: "DaemonSet", Namespace: testkit.TestNamespace, Name: "x", UID: "DaemonSet/x"}, LastTimestamp: metav1.Now(),
	}
	nodes := large(ready())
	refused := gateCase{
		poll: always(good("a")), workloads: []bundle.Workload{testkit.Expected("DaemonSet", "x", -1, testkit.Sys)}, live: append(nodes, testkit.DaemonSet("x"), quota),
	}.run(t)
	refused.failed(t, reason.WorkloadFailed, "no such class")
	refused.within(t, lane.SuspectFor, lane.SuspectFor+2*time.Second)
}
