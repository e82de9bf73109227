package gate

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A deadline reports the state of every expected object (F12): first those that are not ready, and
// last of these the ones that wait for others.
func TestGateDeadline(t *testing.T) {
	for _, timeout := range []reason.Reason{reason.SyncTimeout, reason.SchedulingFailed} { // a GitOps lane's, and the helm lane's
		t.Run(string(timeout), func(t *testing.T) {
			r := gateCase{
				timeout: timeout, sync: 90 * time.Second, poll: always(good("a"), is("c", lane.ItemBlocked, "waits for b"), is("b", lane.ItemWaiting, "is being installed")),
				workloads: []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)},
			}.run(t)
			v := r.failed(t, timeout, "not ready after 1m30s: Release b: is being installed (and 1 more)")
			testkit.WantEach(t, "details", v.Details, []string{"Release b: is being installed", "Release c: waits for b", "Deployment ns/d: does not exist yet", "Release a: deployed"})
			r.within(t, 90*time.Second, 91*time.Second)
		})
	}
}

// A poll that the deadline itself cut off says nothing about the API server.
func TestGateDeadline_DuringPoll(t *testing.T) {
	r := gateCase{sync: 90 * time.Second, poll: func(since time.Duration) (lane.State, error) {
		if since < 89*time.Second {
			return items(is("a", lane.ItemWaiting, "is being installed"))
		}
		time.Sleep(5 * time.Second)
		return lane.State{}, context.DeadlineExceeded
	}}.run(t)
	r.failed(t, reason.SyncTimeout, "not ready after 1m30s: Release a: is being installed")
}

func TestGateRoot(t *testing.T) {
	rootAfter := func(d time.Duration) func(time.Duration) (lane.State, error) {
		return func(since time.Duration) (lane.State, error) {
			if since < d {
				return lane.State{}, nil
			}
			return items(is("a", lane.ItemWaiting, "is being installed"))
		}
	}
	t.Run("a root that never appears uses up its grace and the budget", func(t *testing.T) {
		noRoot := is("root", lane.ItemWaiting, "does not exist yet")
		r := gateCase{grace: 30 * time.Second, sync: 60 * time.Second, poll: func(time.Duration) (lane.State, error) {
			return lane.State{Items: []lane.Item{noRoot}}, nil
		}}.run(t)
		r.failed(t, reason.SyncTimeout, "not ready after 1m0s: Release root: does not exist yet")
		r.within(t, 90*time.Second, 92*time.Second)
	})
	t.Run("a root that appears after its grace is in time", func(t *testing.T) {
		r := gateCase{grace: 30 * time.Second, sync: 60 * time.Second, poll: func(since time.Duration) (lane.State, error) {
			if since < 45*time.Second {
				return lane.State{Items: []lane.Item{is("root", lane.ItemWaiting, "does not exist yet")}}, nil
			}
			return items(good("root"))
		}}.run(t)
		r.passed(t, 1)
		r.within(t, 45*time.Second, 47*time.Second)
	})
	t.Run("the sync budget begins with the root", func(t *testing.T) {
		r := gateCase{grace: 30 * time.Second, sync: 60 * time.Second, poll: rootAfter(20 * time.Second)}.run(t)
		r.failed(t, reason.SyncTimeout, "not ready after 1m0s: Release a")
		r.within(t, 80*time.Second, 82*time.Second)
	})
	t.Run("no grace, no wait for a root", func(t *testing.T) {
		r := gateCase{poll: func(time.Duration) (lane.State, error) { return lane.State{Items: []lane.Item{good("a")}}, nil }}.run(t)
		r.passed(t, 1)
		r.within(t, 0, time.Second)
	})
}

// An API server that forbids or does not answer is never a timeout of the sync.
func TestGateAPIServer(t *testing.T) {
	pollForbidden := func(time.Duration) (lane.State, error) { return lane.State{}, forbiddenError() }
	pollRefusedLater := func(since time.Duration) (lane.State, error) {
		if since > 20*time.Second {
			return lane.State{}, errors.New("dial tcp 127.0.0.1:6443: connection refused")
		}
		return items(is("a", lane.ItemWaiting, "is being installed"))
	}
	pollRefused := func(time.Duration) (lane.State, error) {
		return lane.State{}, errors.New("dial tcp 127.0.0.1:6443: connection refused")
	}
	tests := map[string]struct {
		Gate  gateCase
		cause string
		most  time.Duration
	}{
		"the lane's look is forbidden":           {gateCase{poll: pollForbidden}, "no RBAC policy matched", time.Second},
		"the look for the root is forbidden":     {gateCase{grace: 30 * time.Second, poll: pollForbidden}, "no RBAC policy matched", time.Second},
		"pods are forbidden":                     {gateCase{poll: always(good("a")), kube: brokenFor(time.Hour, "pods", forbiddenError())}, "no RBAC policy matched", time.Second},
		"no answer after a while":                {gateCase{sync: 60 * time.Second, poll: pollRefusedLater}, "did not answer", 61 * time.Second},
		"no answer at all":                       {gateCase{sync: 60 * time.Second, poll: pollRefused}, "did not answer", 61 * time.Second},
		"no answer at all, root waited for":      {gateCase{grace: 30 * time.Second, poll: pollRefused}, "connection refused", 31 * time.Second},
		"no answer for pods, deployer good":      {gateCase{sync: 60 * time.Second, poll: always(good("a")), kube: brokenFor(time.Hour, "pods", errors.New("connection refused"))}, "did not answer", 61 * time.Second},
		"no answer for pods, deployer not ready": {gateCase{sync: 60 * time.Second, poll: always(is("a", lane.ItemWaiting, "w")), kube: brokenFor(time.Hour, "pods", errors.New("connection refused"))}, "did not answer", 61 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := tc.Gate.run(t)
			if v := r.failed(t, reason.ClusterFailed, tc.cause); v.Status != result.Infrastructure {
				t.Errorf("status: got %s, want %s", v.Status, result.Infrastructure)
			}
			r.within(t, 0, tc.most)
		})
	}
}

// One failed poll just before the deadline does not turn a sync timeout into a fault of the machine
// (F41).
func TestGateDeadline_AfterFailedPoll(t *testing.T) {
	failing := func(from time.Duration) gateCase {
		return gateCase{sync: 90 * time.Second, poll: func(since time.Duration) (lane.State, error) {
			if since >= from {
				return lane.State{}, errors.New("connection reset by peer")
			}
			return items(is("a", lane.ItemWaiting, "is being installed"))
		}}
	}
	failing(89*time.Second).run(t).failed(t, reason.SyncTimeout, "Release a: is being installed")
	failing(90*time.Second-lane.SuspectFor).run(t).failed(t, reason.ClusterFailed, "connection reset by peer")
	for _, from := range []time.Duration{29 * time.Second, 119 * time.Second} { // as the grace ends, and as the budget after it does
		root := failing(0)
		root.grace, root.poll = 30*time.Second, func(since time.Duration) (lane.State, error) {
			if since >= from && since < from+2*time.Second {
				return lane.State{}, errors.New("connection reset by peer")
			}
			return lane.State{Items: []lane.Item{is("root", lane.ItemWaiting, "does not exist yet")}}, nil
		}
		root.run(t).failed(t, reason.SyncTimeout, "not ready after 1m30s: Release root")
	}
}

// An API server that hangs is no sync timeout either, though no request of a poll ever fails (F40).
func TestGateAPIServerHangs(t *testing.T) {
	hang := func(from time.Duration) gateCase {
		return gateCase{sync: 90 * time.Second, poll: func(since time.Duration) (lane.State, error) {
			if since >= from {
				time.Sleep(90*time.Second - since)
				return lane.State{}, context.DeadlineExceeded
			}
			return items(is("a", lane.ItemWaiting, "is being installed"))
		}}
	}
	hang(0).run(t).failed(t, reason.ClusterFailed, "did not answer at the end of 1m30s")
	hang(40*time.Second).run(t).failed(t, reason.ClusterFailed, "did not answer at the end of 1m30s")
}

// What the deployer reports as delivered must exist.
func TestGateMissingObjects(t *testing.T) {
	widget := func(name string, ephemeral bool) bundle.Object {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name, "namespace": "ns"}}}
		return bundle.Object{Component: "comp", Template: "comp/templates/widget.yaml", Ephemeral: ephemeral, Object: o}
	}
	t.Run("missing for good", func(t *testing.T) {
		r := gateCase{poll: always(good("a")), objects: []bundle.Object{widget("w1", false), widget("w2", false)}}.run(t)
		v := r.failed(t, reason.DeployFailed, "Widget ns/w1 (comp, comp/templates/widget.yaml) is reported as delivered, but does not exist")
		testkit.WantEach(t, "details", v.Details, []string{"Widget ns/w1", "Widget ns/w2"})
		r.within(t, lane.SuspectFor, lane.SuspectFor+2*time.Second)
	})
	t.Run("a hook's object may be gone", func(t *testing.T) {
		gateCase{poll: always(good("a")), objects: []bundle.Object{widget("w1", true)}}.run(t).passed(t, 1)
	})
	t.Run("a name that the API server makes up", func(t *testing.T) {
		gateCase{poll: always(good("a")), objects: []bundle.Object{widget("", false)}}.run(t).passed(t, 1)
	})
	t.Run("it is named when the deadline comes first", func(t *testing.T) {
		r := gateCase{sync: lane.SuspectFor / 2, poll: always(good("a")), objects: []bundle.Object{widget("w1", false)}}.run(t)
		if r.err == nil {
			t.Fatal("the gate passed without Widget ns/w1")
		}
		testkit.WantText(t, "error", r.err.Error(), "Widget ns/w1")
	})
	t.Run("one that was missing in between starts anew", func(t *testing.T) {
		// Missing, then the deployer works for a long time, then missing again for a moment: that
		// is not one long absence.
		r := gateCase{sync: 3*lane.SuspectFor + 3*time.Second, objects: []bundle.Object{widget("w1", false)}, poll: func(since time.Duration) (lane.State, error) {
			if since > 2*time.Second && since < 3*lane.SuspectFor {
				return items(is("a", lane.ItemWaiting, "upgrading"))
			}
			return items(good("a"))
		}}.run(t)
		if r.err == nil || r.took < 3*lane.SuspectFor+2*time.Second {
			t.Errorf("got %v after %s, want the deadline: it was missing for 2 s, twice", r.err, r.took)
		}
	})
}
