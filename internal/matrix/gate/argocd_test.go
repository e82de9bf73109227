package gate

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// An error of the stack is no fault of the recipe, and comes after the recipe's faults (faults
// F21).
func TestFailedItems_StackErrors(t *testing.T) {
	stacks := lane.Item{ID: "Application csi", State: lane.ItemSuspect, Text: "ComparisonError: no such field", Reason: reason.ArgoCDSchemaTooOld}
	v := gateCase{poll: always(stacks)}.run(t).failed(t, reason.ArgoCDSchemaTooOld, "Application csi: ComparisonError: ")
	if v.Status != result.Infrastructure {
		t.Errorf("status: got %s, want %s", v.Status, result.Infrastructure)
	}
	recipes := stacks
	recipes.Reason = ""
	gateCase{poll: always(recipes)}.run(t).failed(t, reason.DeployFailed, "Application csi: ComparisonError: ")
	refused := lane.Item{ID: "Application b", State: lane.ItemFailed, Text: "Pod b is invalid"}
	gateCase{poll: func(since time.Duration) (lane.State, error) {
		if since < lane.SuspectFor+2*time.Second {
			return items(stacks)
		}
		return items(stacks, refused)
	}}.run(t).failed(t, reason.ArgoCDSchemaTooOld, "Application csi")
	gateCase{poll: always(stacks, refused)}.run(t).failed(t, reason.DeployFailed, "Application b: Pod b is invalid")
}

// Faults of the recipe come first; otherwise the first item that the lane delivers is the verdict,
// whatever its reason is called.
func TestFailedItems_Order(t *testing.T) {
	item := func(id string, r reason.Reason) lane.Item {
		return lane.Item{ID: id, State: lane.ItemFailed, Text: "failed", Reason: r}
	}
	long, short := item("long", reason.ArgoCDSchemaTooOld), item("short", reason.Internal)
	recipe := item("recipe", reason.DeployFailed)
	for name, tt := range map[string]struct {
		items []lane.Item
		want  lane.Item
	}{
		"the lane's order, long name first":  {[]lane.Item{long, short}, long},
		"the lane's order, short name first": {[]lane.Item{short, long}, short},
		"the recipe's fault before both":     {[]lane.Item{short, long, recipe}, recipe},
	} {
		t.Run(name, func(t *testing.T) {
			gateCase{poll: always(tt.items...)}.run(t).failed(t, tt.want.Reason, tt.want.ID+": failed")
		})
	}
}

// An error with a patience of its own is waited for that long, and no longer (faults F45).
func TestGatePatience(t *testing.T) {
	const patience = time.Minute
	behind := lane.Item{ID: "Application kai", State: lane.ItemSuspect, Text: "ComparisonError: unable to resolve parseableType", Reason: reason.ArgoCDSchemaTooOld, Patience: patience}
	r := gateCase{sync: 5 * time.Minute, poll: func(since time.Duration) (lane.State, error) {
		if since < patience-5*time.Second {
			return items(behind)
		}
		return items(good("kai"))
	}}.run(t)
	if r.err != nil {
		t.Errorf("behind for a while: got %v", r.err)
	}
	r = gateCase{sync: 5 * time.Minute, poll: always(behind)}.run(t)
	r.failed(t, reason.ArgoCDSchemaTooOld, "parseableType")
	r.within(t, patience, patience+2*time.Second)
}

// One poll reads every list once, so that all its statements are about one moment (faults F15).
func TestPoll_OneListPerKind(t *testing.T) {
	kube := fake.NewClientset(testkit.Objects(testkit.TestNodes(), testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0")))...)
	env := lanetest.Env(kube, bundle.Expectation{Workloads: []bundle.Workload{
		testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Expected("Deployment", "e", 2, testkit.Sys), testkit.Expected("DaemonSet", "f", -1, testkit.Acc), testkit.Expected("Job", "j", 1, testkit.Sys),
	}})
	g := New(env, &lanetest.Lane{Says: always(good("a"))}, lane.Budgets{}, Deadline{}, nil)
	g.poll(t.Context())
	lists := map[string]int{}
	for _, a := range kube.Actions() {
		if a.GetVerb() != "list" {
			t.Errorf("a poll made a request that is no list: %s %s", a.GetVerb(), a.GetResource().Resource)
		}
		lists[a.GetResource().Resource]++
	}
	for _, resource := range []string{"pods", "nodes", "deployments", "daemonsets", "jobs"} {
		if lists[resource] != 1 {
			t.Errorf("%s were listed %d times in one look, want once", resource, lists[resource])
		}
	}
}
