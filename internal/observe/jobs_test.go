package observe

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// A Job that is deleted after it has finished is judged by what was seen of it.
func TestJobs_Deleted(t *testing.T) {
	kube := fake.NewClientset()
	watches := NewWatches(t.Context(), kube)
	defer watches.Stop()
	jobs, err := WatchJobs(t.Context(), watches)
	if err != nil {
		t.Fatal(err)
	}
	runs := func(name string, uid types.UID, condition batchv1.JobConditionType) {
		t.Helper()
		before := jobs.Times("x", name)
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, UID: uid}}
		client := kube.BatchV1().Jobs("x")
		if _, err := client.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if condition != "" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "it failed"}}
			if _, err := client.Update(t.Context(), job, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Eventually(t, "the watch to see the Job", time.Minute, func() wait.Result {
			end := jobs.of("x", name)
			if end.times == before || condition == batchv1.JobComplete && !end.complete || condition == batchv1.JobFailed && end.failed == "" {
				return wait.NotYet("%+v", end)
			}
			return wait.Done()
		})
		if err := client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	runs("done", "1", batchv1.JobComplete)
	runs("broken", "2", batchv1.JobFailed)
	runs("open", "3", "")
	view, err := Poll(t.Context(), kube)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, hook bool) WorkloadReport {
		return CheckWorkloads([]bundle.Workload{{Kind: "Job", Namespace: "x", Name: name, Replicas: 2, Ephemeral: true, Hook: hook}}, view)
	}
	view.Jobs = jobs
	if r := check("done", false); r.Pods != 2 || len(r.Waiting)+len(r.Wrong) > 0 {
		t.Errorf("a complete Job: got %+v, want its 2 pods", r)
	}
	if r := check("broken", false); len(r.Wrong) != 1 || r.Wrong[0].Text != "the Job failed: BackoffLimitExceeded: it failed" {
		t.Errorf("a failed Job: got %+v", r)
	}
	for _, name := range []string{"open", "never"} {
		if r := check(name, false); len(r.Waiting) != 1 {
			t.Errorf("Job %s: got %+v, want it to be waited for", name, r)
		}
	}
	if r := check("never", true); len(r.Waiting)+len(r.Wrong) > 0 { // its deployer says how it ended
		t.Errorf("a hook: got %+v", r)
	}
	runs("done", "4", batchv1.JobComplete)
	if got := jobs.Times("x", "done"); got != 2 {
		t.Errorf("a Job that was created again: got %d times, want 2", got)
	}
	if !jobs.Completed("x", "done") || jobs.Completed("x", "broken") || (*Jobs)(nil).Completed("x", "done") {
		t.Error("Completed is wrong")
	}
}

// ReplicaSets and ReplicationControllers of a chart are workloads; a Deployment's are not.
func TestReplicaSets_WithoutDeployment(t *testing.T) {
	set := &appsv1.ReplicaSet{ObjectMeta: testkit.ObjectMeta("ReplicaSet", "set"), Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1}}
	refused := &appsv1.ReplicaSet{ObjectMeta: testkit.ObjectMeta("ReplicaSet", "refused"), Status: appsv1.ReplicaSetStatus{
		ObservedGeneration: 1, Conditions: []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}},
	}}
	old := &corev1.ReplicationController{ObjectMeta: testkit.ObjectMeta("ReplicationController", "old"), Status: corev1.ReplicationControllerStatus{ObservedGeneration: 1}}
	pending := testkit.Pod("old-1", "ReplicationController", "old", "", testkit.Refused("0/6 nodes are available"))
	kube := fake.NewClientset(testkit.Objects(testkit.TestNodes(), testkit.Deployment("d"), testkit.List(set, refused, old, pending, testkit.Pod("set-1", "ReplicaSet", "set", "s0")))...)
	view, err := Poll(t.Context(), kube)
	if err != nil {
		t.Fatal(err)
	}
	got := CheckWorkloads([]bundle.Workload{
		testkit.Expected("ReplicaSet", "set", 2, testkit.Sys), testkit.Expected("ReplicaSet", "refused", 1, testkit.Sys),
		testkit.Expected("ReplicationController", "old", 1, testkit.Sys), testkit.Expected("ReplicaSet", "missing", 1, testkit.Sys),
	}, view)
	wantReport{pods: 1, pending: []string{"old-1: 0/6 nodes are available"}, waiting: []string{
		"ReplicaSet ns/set: 1 of 2 pods as expected", "ReplicaSet ns/refused: the API server rejects its pods: exceeded quota",
		"ReplicationController ns/old: 0 of 1 pods", "ReplicaSet ns/missing: does not exist yet",
	}}.check(t, got)
	if _, ok := view.Live[WorkloadKey("ReplicaSet", testkit.TestNamespace, "d")]; ok {
		t.Error("the ReplicaSet of a Deployment is a workload of its own")
	}
}
