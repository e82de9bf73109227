package chaos

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/observe"
)

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID(name)}
}

// pod is one of an owner's: on a node it runs and is ready, without one the scheduler has refused
// it.
func pod(kind, owner, name, node string) *corev1.Pod {
	yes := true
	p := &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	if owner != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: kind, Name: owner, UID: types.UID(owner), Controller: &yes}}
	}
	if node == "" {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."}}}
	}
	return p
}

func readyNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

func view(t *testing.T, objects ...runtime.Object) *observe.View {
	t.Helper()
	v, err := observe.Poll(t.Context(), fake.NewClientset(objects...)) // the API server's part is to list; what runs there is in TestChaos of cmd/matrix
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSurvey(t *testing.T) {
	two := int32(2)
	yes := true
	web := &appsv1.StatefulSet{ObjectMeta: meta("web"), Spec: appsv1.StatefulSetSpec{Replicas: &two}}
	job := func(name string, status batchv1.JobStatus) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: meta(name), Spec: batchv1.JobSpec{Parallelism: &two, Completions: &two}, Status: status}
		j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: "set", UID: "set", Controller: &yes}}
		return j
	}
	nodes := []runtime.Object{readyNode("n0"), readyNode("n1")}
	with := func(more ...runtime.Object) *observe.View {
		return view(t, append(append([]runtime.Object{}, nodes...), more...)...)
	}
	ofJob := func(name, job, node string) *corev1.Pod { return pod("Job", job, name, node) }

	var s survey
	s.begin(with(web, pod("StatefulSet", "web", "web-0", "n0"), pod("StatefulSet", "web", "web-1", "n1"), pod("", "", "alone", "n0"),
		job("a", batchv1.JobStatus{}), job("b", batchv1.JobStatus{}), ofJob("a-0", "a", "n0"), ofJob("a-1", "a", "n0"), ofJob("b-0", "b", "n1"), ofJob("b-1", "b", ""),
		pod("Queue", "queue", "queue-0", "")))
	told := func() string {
		whole, hurt := s.standing()
		text := fmt.Sprint(whole)
		for _, h := range hurt {
			text += fmt.Sprintf("; %s %s %d/%d %t %s", h.State, h.Workload, h.Ready, h.Want, h.Before, h.Why)
		}
		return text
	}
	if got, want := told(), "2; degraded JobSet.jobset.x-k8s.io lab/set 3/4 true 0/2 nodes are available: 2 Insufficient nvidia.com/gpu.; waiting Queue.example.com lab/queue 0/1 true 0/2 nodes are available: 2 Insufficient nvidia.com/gpu."; got != want {
		t.Errorf("before:\ngot  %s\nwant %s", got, want)
	}

	// n1 is down; the pod without an owner was deleted; Job a is complete, b has failed.
	down := readyNode("n1")
	down.Status.Conditions[0].Status = corev1.ConditionFalse
	nodes[1] = down
	stuck := pod("StatefulSet", "web", "web-1", "n1")
	now := metav1.Now()
	stuck.DeletionTimestamp, stuck.Finalizers, stuck.Annotations = &now, []string{"example.com/a"}, map[string]string{kubelet: stopped}
	later := with(web, pod("StatefulSet", "web", "web-0", "n0"), stuck,
		job("a", batchv1.JobStatus{Succeeded: 2, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}),
		job("b", batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "too often"}}}))
	s.see(later)
	want := "0; lost JobSet.jobset.x-k8s.io lab/set 0/0 true BackoffLimitExceeded: too often; lost Pod lab/alone 0/1 false it is gone, and nothing makes it again; " +
		"degraded StatefulSet lab/web 1/2 false pod lab/web-1 is Terminating on the stopped node n1; a StatefulSet makes no other one until it is gone"
	if got := told(); got != want {
		t.Errorf("later:\ngot  %s\nwant %s", got, want)
	}
	if why := s.restless(); why != "" {
		t.Errorf("all that can happen has happened, but %s", why)
	}
	for name, c := range map[string]struct {
		v    *observe.View
		want string
	}{
		"a pod is missing":    {with(&appsv1.Deployment{ObjectMeta: meta("d")}), "Deployment lab/d has 0 of 1 pods"},
		"it is being deleted": {with(web, func() *corev1.Pod { p := stuck.DeepCopy(); p.Annotations = nil; return p }()), "pod lab/web-1 is being deleted"},
		"no scheduler looked": {with(func() *corev1.Pod {
			p := pod("", "", "new", "")
			p.Spec.SchedulerName = "default-scheduler"
			p.Status.Conditions = nil
			return p
		}()), "pod lab/new has no node yet"},
		"it starts": {with(func() *corev1.Pod { p := pod("", "", "new", "n0"); p.Status.Phase = corev1.PodPending; return p }()), "pod lab/new is not ready yet"},
	} {
		var s survey
		s.see(c.v)
		if got := s.restless(); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
