package gate

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// A Job that Kueue holds back is waited for, and is never passed over; then Kueue's words are the cause.
func TestHeld(t *testing.T) {
	const nothing = "it is suspended (spec.suspend), and nothing here resumes it"
	for name, c := range map[string]struct {
		status string // of the Workload; "": there is none
		served bool
		after  time.Duration
		want   string
	}{
		"no Kueue":          {want: nothing},
		"no Workload":       {served: true, after: pendingFor, want: nothing + "; Kueue has made no Workload of it"},
		"an inactive queue": {served: true, status: "{conditions: [{type: QuotaReserved, status: \"False\", message: ClusterQueue all is inactive}]}", after: heldFor, want: "it is not admitted by Kueue: ClusterQueue all is inactive: no flavor"},
		"no room":           {served: true, status: "{conditions: [{type: QuotaReserved, status: \"False\", message: no room}]}", after: heldFor, want: "it is not admitted by Kueue: no room"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := lanetest.Env(fake.NewClientset(), bundle.Expectation{})
				if c.served {
					var all []runtime.Object
					if c.status != "" {
						all = append(all, testkit.Parsed(t, "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, namespace: "+testkit.TestNamespace+", ownerReferences: [{kind: Job, name: train, uid: u, controller: true}]}, status: "+c.status+"}"))
					}
					env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
						{Group: queues, Version: "v1beta2", Resource: "workloads"}: "WorkloadList", {Group: queues, Version: "v1beta2", Resource: "clusterqueues"}: "ClusterQueueList",
					}, append(all, testkit.Parsed(t, "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all}, status: {conditions: [{type: Active, status: \"False\", message: no flavor}]}}"))...)
				}
				g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
				job := testkit.Expected("Job", "train", 1, testkit.Sys)
				for begun := time.Now(); ; time.Sleep(time.Second) {
					r := observe.WorkloadReport{Wrong: []observe.WrongWorkload{{Workload: &job, Text: nothing, Fields: []string{"spec.suspend"}}}}
					g.held(t.Context(), &r)
					if len(r.Wrong)+len(r.Waiting) != 1 {
						t.Fatalf("the Job is passed over: %+v", r)
					}
					if len(r.Waiting) > 0 {
						continue
					}
					if took := time.Since(begun); took != c.after || r.Wrong[0].Text != c.want {
						t.Errorf("after %s: %q; want %q after %s", took, r.Wrong[0].Text, c.want, c.after)
					}
					return
				}
			})
		})
	}
}

func TestHeldBack(t *testing.T) {
	workload := func(kind, name string, conditions ...any) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
			"metadata": map[string]any{"name": "w", "ownerReferences": []any{map[string]any{"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": "u", "controller": true}}},
			"status":   map[string]any{"conditions": conditions},
		}}
	}
	refused := map[string]any{"type": "QuotaReserved", "status": "False", "message": "no room"}
	for _, c := range []struct {
		name  string
		of    unstructured.Unstructured
		text  string
		found bool
	}{
		{"another's", workload("Job", "other", refused), "", false},
		{"a JobSet's", workload("JobSet", "train", refused), "", false},
		{"no word", workload("Job", "train"), "it is suspended, and Kueue has said nothing of it yet", true},
		{"admitted", workload("Job", "train", map[string]any{"type": "QuotaReserved", "status": "True"}, map[string]any{"type": "Admitted", "status": "True"}), "", true},
		{"refused", workload("Job", "train", refused), "it is not admitted by Kueue: no room", true},
	} {
		if text, found := heldBack("Job", "train", []unstructured.Unstructured{c.of}); text != c.text || found != c.found {
			t.Errorf("%s: got %q, %t", c.name, text, found)
		}
	}
}
