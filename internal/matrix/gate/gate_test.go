package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// gateCase is one gate on a clock that is not real.
type gateCase struct {
	grace, sync time.Duration // 0: no grace, 300 s
	timeout     reason.Reason // "": SYNC_TIMEOUT
	poll        func(since time.Duration) (lane.State, error)
	workloads   []bundle.Workload // nil: one Deployment, which is there and good
	objects     []bundle.Object
	live        []runtime.Object
	releases    []bundle.Release
	// kube may break the API server; cancelAfter ends the cell.
	kube        func(*fake.Clientset)
	cancelAfter time.Duration
	slowness    float64 // of the machine; 0: not measured
	schedulers  []string
}

type gateResult struct {
	outcome Outcome
	err     error
	took    time.Duration
	told    []string
}

func errStopped() error { return reason.New(reason.Interrupted, "interrupted by the test") }

func (c gateCase) run(t *testing.T) gateResult {
	t.Helper()
	var res gateResult
	synctest.Test(t, func(t *testing.T) {
		if c.sync == 0 {
			c.sync = 300 * time.Second
		}
		if c.timeout == "" {
			c.timeout = reason.SyncTimeout
		}
		if c.workloads == nil {
			c.workloads = []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)}
			c.live = testkit.Objects(c.live, testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0")))
		}
		kube := fake.NewClientset(testkit.Objects(testkit.TestNodes(), c.live)...)
		if c.kube != nil {
			c.kube(kube)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if c.cancelAfter > 0 {
			timer := time.AfterFunc(c.cancelAfter, func() { cancel(errStopped()) })
			defer timer.Stop()
		}
		through := &lanetest.Lane{Grace: c.grace, Sync: c.sync, Timeout: c.timeout, Says: c.poll}
		start := time.Now()
		env := lanetest.Env(kube, bundle.Expectation{Workloads: c.workloads, Objects: c.objects, Releases: c.releases})
		g := New(env, through, lane.Budgets{}, Deadline{}, func(why string) { res.told = append(res.told, why) })
		g.Schedulers = c.schedulers
		if c.slowness > 0 {
			g.Slowness = func(time.Time) float64 { return c.slowness }
		}
		res.outcome, res.err = g.Pass(ctx)
		res.took = time.Since(start)
	})
	return res
}

func (r gateResult) within(t *testing.T, least, most time.Duration) {
	t.Helper()
	if r.took < least || r.took > most {
		t.Errorf("the gate took %s, want %s to %s", r.took, least, most)
	}
}

func (r gateResult) passed(t *testing.T, pods int) {
	t.Helper()
	if r.err != nil {
		t.Fatalf("got %v, want a pass", r.err)
	}
	if r.outcome.Pods != pods {
		t.Errorf("pods: got %d, want %d", r.outcome.Pods, pods)
	}
}

func (r gateResult) failed(t *testing.T, want reason.Reason, cause string) result.Verdict {
	t.Helper()
	if r.err == nil {
		t.Fatalf("the gate passed, want %s: %s", want, cause)
	}
	v := result.VerdictOf(r.err)
	if v.Reason != want || !strings.Contains(v.Cause, cause) {
		t.Fatalf("got %s: %s\nwant %s: %s", v.Reason, v.Cause, want, cause)
	}
	return v
}

func is(name string, s lane.ItemState, text string) lane.Item {
	return lane.Item{ID: "Release " + name, Ref: result.Ref{Kind: lane.KindRelease, Name: name}, State: s, Text: text}
}

func good(name string) lane.Item { return is(name, lane.ItemGood, "deployed") }

func items(list ...lane.Item) (lane.State, error) {
	return lane.State{RootSeen: true, Items: list}, nil
}

func always(list ...lane.Item) func(time.Duration) (lane.State, error) {
	return func(time.Duration) (lane.State, error) { return items(list...) }
}

func TestGatePasses(t *testing.T) {
	t.Run("at once", func(t *testing.T) {
		r := gateCase{poll: always(good("a"))}.run(t)
		r.passed(t, 1)
		r.within(t, 0, time.Second)
		testkit.WantEach(t, "notes", r.outcome.Notes, nil)
	})
	t.Run("once all items are good (F02)", func(t *testing.T) {
		r := gateCase{poll: func(since time.Duration) (lane.State, error) {
			if since < 30*time.Second {
				return items(good("a"), is("b", lane.ItemWaiting, "is being installed\nmore"))
			}
			return items(good("a"), good("b"))
		}}.run(t)
		r.passed(t, 1)
		r.within(t, 30*time.Second, 32*time.Second)
		testkit.WantEach(t, "told", r.told, []string{"1 of 2 ready; Release b is being installed", ""})
	})
	t.Run("once a pod that was refused for a moment runs", func(t *testing.T) {
		w := []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)}
		r := gateCase{poll: always(good("a")), workloads: w, kube: podsLater(pendingFor-time.Second, testkit.Pod("d-1", "ReplicaSet", "d", "", testkit.Refused("0/4 nodes"))), live: testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0")))}.run(t)
		r.passed(t, 1)
		r.within(t, pendingFor-time.Second, pendingFor+time.Second)
	})
	t.Run("once a pod runs whose claim its class has bound at last", func(t *testing.T) {
		w := []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)}
		claimed := func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		}
		before := testkit.Pod("d-1", "ReplicaSet", "d", "", testkit.Refused("pod has unbound immediate PersistentVolumeClaims"), claimed)
		class := "fixed"
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: before.Namespace, Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}}
		live := append(testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0"))), claim, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}})
		r := gateCase{poll: always(good("a")), workloads: w, kube: podsLater(bindingFor-time.Second, before), live: live}.run(t)
		r.passed(t, 1)
		r.within(t, bindingFor-time.Second, bindingFor+time.Second)
		r = gateCase{poll: always(good("a")), workloads: w, kube: podsLater(time.Hour, before), live: live}.run(t)
		r.failed(t, reason.SchedulingFailed, "unbound immediate")
		r.within(t, bindingFor, bindingFor+2*time.Second)
	})
	t.Run("after an API server that did not answer for a while", func(t *testing.T) {
		r := gateCase{poll: always(good("a")), kube: brokenFor(20*time.Second, "nodes", errors.New("connection refused"))}.run(t)
		r.passed(t, 1)
		r.within(t, 20*time.Second, 22*time.Second)
	})
}

// podsLater shows these pods, and the real ones only after a while.
func podsLater(d time.Duration, before ...*corev1.Pod) func(*fake.Clientset) {
	return func(kube *fake.Clientset) {
		start := time.Now()
		kube.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			if time.Since(start) >= d {
				return false, nil, nil
			}
			l := &corev1.PodList{}
			for _, p := range before {
				l.Items = append(l.Items, *p)
			}
			return true, l, nil
		})
	}
}

// brokenFor makes lists of a resource fail for a while.
func brokenFor(d time.Duration, resource string, err error) func(*fake.Clientset) {
	return func(kube *fake.Clientset) {
		start := time.Now()
		kube.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return time.Since(start) < d, nil, err
		})
	}
}

func TestGateItems(t *testing.T) {
	t.Run("a hard error ends it at once (F11)", func(t *testing.T) {
		r := gateCase{poll: always(good("a"), is("b", lane.ItemFailed, "web is invalid\nwith a second line"), is("c", lane.ItemBlocked, "waits"), is("d", lane.ItemBlocked, "waits"))}.run(t)
		v := r.failed(t, reason.DeployFailed, "Release b: web is invalid")
		r.within(t, 0, time.Second)
		testkit.WantEach(t, "details", v.Details, []string{"Release b: web is invalid\nwith a second line", "2 more blocked by this failure"})
	})
	t.Run("several hard errors are counted", func(t *testing.T) {
		v := gateCase{poll: always(is("a", lane.ItemFailed, "one"), is("b", lane.ItemFailed, "two"))}.run(t).failed(t, reason.DeployFailed, "Release a: one (and 1 more)")
		testkit.WantEach(t, "details", v.Details, []string{"Release a: one", "Release b: two"})
	})
	t.Run("a suspect error must last", func(t *testing.T) {
		r := gateCase{poll: always(is("a", lane.ItemSuspect, "connection refused"), is("b", lane.ItemBlocked, "waits"))}.run(t)
		v := r.failed(t, reason.DeployFailed, "Release a: connection refused")
		r.within(t, lane.SuspectFor, lane.SuspectFor+2*time.Second)
		testkit.WantEach(t, "details", v.Details, []string{"Release a: connection refused", "1 more blocked by this failure"})
	})
	t.Run("a webhook of the bundle may start", func(t *testing.T) {
		hook := bundle.Object{Release: "h", Object: &unstructured.Unstructured{Object: map[string]any{"kind": "MutatingWebhookConfiguration", "webhooks": []any{map[string]any{"name": "hook.example.com"}}}}}
		for name, patience := range map[string]time.Duration{"hook.example.com": lane.WebhookPatience, "other.example.com": lane.SuspectFor} {
			c := gateCase{poll: always(is("a", lane.ItemSuspect, "failed calling webhook \""+name+"\": EOF")), releases: []bundle.Release{{Name: "h"}}, objects: []bundle.Object{hook}}
			r := c.run(t)
			r.failed(t, reason.DeployFailed, "failed calling webhook")
			r.within(t, patience, patience+2*time.Second)
		}
	})
	t.Run("a suspect error that goes away is none", func(t *testing.T) {
		r := gateCase{poll: func(since time.Duration) (lane.State, error) {
			if since < lane.SuspectFor-2*time.Second {
				return items(is("a", lane.ItemSuspect, "connection refused"))
			}
			return items(good("a"))
		}}.run(t)
		r.passed(t, 1)
	})
	t.Run("a suspect error that comes back starts anew", func(t *testing.T) {
		r := gateCase{poll: func(since time.Duration) (lane.State, error) {
			switch short := lane.SuspectFor - 2*time.Second; {
			case since < short, since > lane.SuspectFor && since < lane.SuspectFor+short:
				return items(is("a", lane.ItemSuspect, "connection refused"))
			case since < lane.SuspectFor+short:
				return items(is("a", lane.ItemWaiting, "trying again"))
			}
			return items(good("a"))
		}}.run(t)
		r.passed(t, 1)
	})
	t.Run("blocked items alone are no error", func(t *testing.T) {
		r := gateCase{sync: 60 * time.Second, poll: always(is("a", lane.ItemBlocked, "waits"))}.run(t)
		r.failed(t, reason.SyncTimeout, "Release a: waits")
		r.within(t, 60*time.Second, 61*time.Second)
	})
}

func TestGateSettles(t *testing.T) {
	accepted := is("a", lane.ItemAccepted, "OutOfSync, Healthy")
	t.Run("another state than the canonical one is noted", func(t *testing.T) {
		r := gateCase{poll: always(accepted, good("b"))}.run(t)
		r.passed(t, 1)
		r.within(t, settleFor, settleFor+2*time.Second)
		testkit.WantEach(t, "notes", r.outcome.Notes, []string{"Release a passed as OutOfSync, Healthy"})
	})
	t.Run("a moment on the way is not", func(t *testing.T) {
		r := gateCase{poll: func(since time.Duration) (lane.State, error) {
			if since < settleFor/2 {
				return items(accepted)
			}
			return items(good("a"))
		}}.run(t)
		r.passed(t, 1)
		r.within(t, settleFor/2, settleFor/2+2*time.Second)
		testkit.WantEach(t, "notes", r.outcome.Notes, nil)
	})
	t.Run("a state that comes back starts anew", func(t *testing.T) {
		back := 2 * settleFor
		r := gateCase{poll: func(since time.Duration) (lane.State, error) {
			if since > settleFor/4 && since < back {
				return items(is("a", lane.ItemWaiting, "OutOfSync, Progressing"))
			}
			return items(accepted)
		}}.run(t)
		r.passed(t, 1)
		r.within(t, back+settleFor, back+settleFor+2*time.Second)
	})
	t.Run("nothing that flips for ever settles", func(t *testing.T) {
		r := gateCase{sync: 120 * time.Second, poll: func(since time.Duration) (lane.State, error) {
			return items(is("a", lane.ItemAccepted, fmt.Sprint("try ", int(since/(settleFor/2)))))
		}}.run(t)
		v := r.failed(t, reason.SyncTimeout, "Release a")
		if !strings.Contains(v.Cause+strings.Join(v.Details, "\n"), "try") {
			t.Errorf("want the state that did not settle in %q, %q", v.Cause, v.Details)
		}
	})
}

func TestGatePods(t *testing.T) {
	one := []bundle.Workload{testkit.Expected("Deployment", "d", 1, testkit.Sys)}
	t.Run("a pod that stays refused (F05)", func(t *testing.T) {
		r := gateCase{poll: always(good("a")), workloads: one, live: testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "", testkit.Refused("0/4 nodes are available: 4 Insufficient cpu."))))}.run(t)
		v := r.failed(t, reason.SchedulingFailed, "Deployment ns/d (comp): 0/4 nodes are available: 4 Insufficient cpu.")
		r.within(t, pendingFor, pendingFor+2*time.Second)
		testkit.WantText(t, "details", strings.Join(v.Details, "\n"), "pods: ns/d-1")
	})
	own := func(p *corev1.Pod) {
		p.Spec.SchedulerName, p.Status = "own", corev1.PodStatus{Phase: corev1.PodPending}
	}
	t.Run("a pod of a scheduler that does not run", func(t *testing.T) {
		r := gateCase{poll: always(good("a")), workloads: one, live: testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "", own)))}.run(t)
		r.failed(t, reason.SchedulingFailed, "its pods are for the scheduler own, which does not run here")
		r.within(t, pendingFor, pendingFor+2*time.Second)
	})
	t.Run("a pod of a scheduler that runs and says nothing", func(t *testing.T) {
		r := gateCase{schedulers: []string{"own"}, poll: always(good("a")), workloads: one, live: testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "", own)))}.run(t)
		v := r.failed(t, reason.SchedulingFailed, "its scheduler own runs as a pod of the recipe, and has said nothing of it")
		r.within(t, silentFor, silentFor+2*time.Second)
		if details := strings.Join(v.Details, "\n"); strings.Contains(details, "add the component") {
			t.Errorf("the component is there: %s", details)
		}
	})
	t.Run("a pod on the wrong node", func(t *testing.T) {
		r := gateCase{poll: always(good("a")), workloads: one, live: testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "a0")))}.run(t)
		r.failed(t, reason.SchedulingFailed, "pod ns/d-1 is on node a0 (accelerated)")
		r.within(t, 0, time.Second)
	})
	t.Run("the deployer's error comes first", func(t *testing.T) {
		gateCase{poll: always(is("a", lane.ItemFailed, "refused")), workloads: one, live: testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "a0")))}.run(t).failed(t, reason.DeployFailed, "Release a: refused")
	})
	t.Run("pods that never run, all delivered: not a sync timeout (F04)", func(t *testing.T) {
		r := gateCase{poll: always(good("a")), workloads: one, live: testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0", testkit.Phase(corev1.PodPending))))}.run(t)
		r.failed(t, reason.WorkloadFailed, "Deployment ns/d: 0 of 1 pods")
		r.within(t, 300*time.Second, 301*time.Second)
	})
	t.Run("no pod at all was verified (F03)", func(t *testing.T) {
		r := gateCase{poll: always(good("a")), workloads: []bundle.Workload{testkit.Expected("Deployment", "d", 0, testkit.Sys)}, live: testkit.Deployment("d")}.run(t)
		v := r.failed(t, reason.SchedulingFailed, "no pod was verified")
		r.within(t, pendingFor, pendingFor+2*time.Second) // waiting would not make one
		testkit.WantEach(t, "details", v.Details, []string{"Deployment ns/d (comp): 0 pods wanted"})
	})
	t.Run("no pod while something is still on its way (F03)", func(t *testing.T) {
		r := gateCase{workloads: []bundle.Workload{testkit.Expected("Deployment", "d", 0, testkit.Sys)}, live: testkit.Deployment("d"), poll: func(since time.Duration) (lane.State, error) {
			if since > 4*time.Second && since < 60*time.Second {
				return items(is("a", lane.ItemWaiting, "upgrading"))
			}
			return items(good("a"))
		}}.run(t)
		r.failed(t, reason.SchedulingFailed, "no pod was verified")
		r.within(t, 60*time.Second+pendingFor, 62*time.Second+pendingFor)
	})
	t.Run("an empty expectation (F03)", func(t *testing.T) {
		if r := (gateCase{sync: 30 * time.Second, poll: always(), workloads: []bundle.Workload{}}).run(t); r.err == nil {
			t.Error("nothing was expected and the gate passed")
		}
	})
}

func forbiddenError() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no RBAC policy matched"))
}

func TestGateCancelled(t *testing.T) {
	nothing := func(time.Duration) (lane.State, error) { return lane.State{}, nil }
	for name, c := range map[string]gateCase{
		"during the sync":              {poll: always(is("a", lane.ItemWaiting, "is being installed"))},
		"while the root is waited for": {poll: nothing, grace: 30 * time.Second},
		"as the API server goes away":  {poll: func(since time.Duration) (lane.State, error) { return lane.State{}, context.Canceled }},
	} {
		t.Run(name, func(t *testing.T) {
			c.cancelAfter = 5500 * time.Millisecond
			r := c.run(t)
			if v := r.failed(t, reason.Interrupted, "interrupted by the test"); v.Status != result.Interrupted || wait.IsTimeout(r.err) {
				t.Errorf("got %+v, %v; want an interrupt and no timeout", v, r.err)
			}
			r.within(t, 5*time.Second, 6*time.Second)
		})
	}
}
