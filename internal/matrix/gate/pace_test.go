package gate

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// course is how the pods d-0, d-1, … of one Deployment change while a gate waits for it.
type course struct {
	pods    int
	created func(i int) time.Duration  // nil: at once; each has its node at that moment
	ready   func(i int) time.Duration  // negative: never
	change  func(i int, p *corev1.Pod) // nil: as it is
	more    func(kube *fake.Clientset) // nil: nothing
}

func (c course) play(kube *fake.Clientset) {
	pods := kube.CoreV1().Pods(testkit.TestNamespace)
	for i := range c.pods {
		created := time.Duration(0)
		if c.created != nil {
			created = c.created(i)
		}
		create := func() {
			now := metav1.Now()
			p := testkit.Pod(fmt.Sprintf("d-%d", i), "ReplicaSet", "d", "s0", testkit.Phase(corev1.PodPending))
			p.CreationTimestamp = now
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}}
			if c.change != nil {
				c.change(i, p)
			}
			_, _ = pods.Create(context.Background(), p, metav1.CreateOptions{})
			if at := c.ready(i); at >= 0 {
				time.AfterFunc(at-created, func() {
					p := p.DeepCopy()
					p.Status.Phase = corev1.PodRunning
					p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
					_, _ = pods.Update(context.Background(), p, metav1.UpdateOptions{})
				})
			}
		}
		if created == 0 {
			create()
		} else {
			time.AfterFunc(created, create)
		}
	}
	if c.more != nil {
		c.more(kube)
	}
}

// each is the time of one pod after another.
func each(d time.Duration) func(int) time.Duration {
	return func(i int) time.Duration { return time.Duration(i+1) * d }
}

// never leaves pods out of a course that others follow.
func never(of func(int) time.Duration, which func(int) bool) func(int) time.Duration {
	return func(i int) time.Duration {
		if which(i) {
			return -1
		}
		return of(i)
	}
}

// A deadline distinguishes pods that only needed more time from stuck pods, whose verdict is
// unchanged.
func TestGateTooSlow(t *testing.T) {
	const budget = 60 * time.Second
	deployment := func(replicas int) []bundle.Workload {
		return []bundle.Workload{testkit.Expected("Deployment", "d", replicas, testkit.Sys)}
	}
	slow := course{pods: 40, ready: func(i int) time.Duration { return each(3*time.Second)(i) - 1500*time.Millisecond }}
	rest := append(deployment(40), func() bundle.Workload { // of a release that waits for the first one
		w := testkit.Expected("Deployment", "later", 1, testkit.Sys)
		w.Component = "later"
		return w
	}())
	waits := always(is("comp", lane.ItemWaiting, "its hook runs"), is("later", lane.ItemBlocked, "waits for comp"))
	tests := map[string]struct {
		gate   gateCase
		course course
		want   reason.Reason
		cause  string
	}{
		"pods that become ready one by one": {gateCase{}, slow, reason.PodsTooSlow, "pods were still becoming ready after 1m0s: 20 are ready and 20 are not"},
		"in a lane with a sync":             {gateCase{timeout: reason.SyncTimeout}, slow, reason.PodsTooSlow, "20 are ready and 20 are not"},
		"a deployer that waits for them":    {gateCase{poll: waits, workloads: rest}, slow, reason.PodsTooSlow, "20 are ready and 20 are not"},
		"pods that are still being created": {gateCase{workloads: deployment(41)}, course{pods: 40, created: each(3 * time.Second), ready: each(3100 * time.Millisecond)}, reason.PodsTooSlow, "are not"},

		"none is ready at all":                              {gateCase{}, course{pods: 40, ready: func(int) time.Duration { return -1 }}, reason.WorkloadFailed, "0 of 40 pods"},
		"they stopped a while ago":                          {gateCase{}, course{pods: 40, ready: never(each(3*time.Second), func(i int) bool { return i > 9 })}, reason.WorkloadFailed, "10 of 40 pods"},
		"one is stuck, and the last that is well came late": {gateCase{workloads: deployment(3)}, course{pods: 3, ready: func(i int) time.Duration { return []time.Duration{10 * time.Second, 55 * time.Second, -1}[i] }}, reason.WorkloadFailed, "2 of 3 pods"},
		"one was overtaken":                                 {gateCase{}, course{pods: 40, created: each(3 * time.Second), ready: never(each(3100*time.Millisecond), func(i int) bool { return i == 2 })}, reason.WorkloadFailed, "of 40 pods"},
		"no further pod is created":                         {gateCase{workloads: deployment(41)}, slow, reason.WorkloadFailed, "of 41 pods"},
		"too many pods":                                     {gateCase{workloads: deployment(39)}, slow, reason.WorkloadFailed, "of 39 pods"},
		"a release that waits for nothing":                  {gateCase{timeout: reason.SyncTimeout, poll: always(good("a"), is("b", lane.ItemWaiting, "is late"))}, slow, reason.SyncTimeout, "Release b: is late"},
		"something delivered that is not there":             {gateCase{workloads: rest}, slow, reason.WorkloadFailed, "20 of 40 pods"},
		"one has failed": {gateCase{workloads: []bundle.Workload{deployment(40)[0], testkit.Expected("Job", "j", 1, testkit.Sys)}}, course{pods: 40, ready: slow.ready, more: func(kube *fake.Clientset) {
			_ = kube.Tracker().Add(testkit.Job("j", ""))
			_ = kube.Tracker().Add(testkit.Pod("j-1", "Job", "j", "s0", testkit.Phase(corev1.PodFailed), func(p *corev1.Pod) { p.CreationTimestamp = metav1.Now() }))
		}}, reason.WorkloadFailed, "20 of 40 pods"},
		"one is ready by turns": {gateCase{}, course{pods: 40, ready: never(each(time.Second), func(i int) bool { return i > 10 }), more: flap}, reason.WorkloadFailed, "of 40 pods"},
		"one has no node, and pods that came later have": {gateCase{}, course{
			pods: 40, created: func(i int) time.Duration { return max(0, time.Duration(i)*time.Second) }, ready: each(3 * time.Second),
			change: func(i int, p *corev1.Pod) {
				if i == 0 {
					p.Spec.NodeName, p.Status.Conditions = "", nil
					p.Spec.SchedulerName = corev1.DefaultSchedulerName
				}
			},
		}, reason.SchedulingFailed, "of 40 pods"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := tc.gate
			g.sync, g.kube = budget, tc.course.play
			if g.timeout == "" {
				g.timeout = reason.SchedulingFailed
			}
			if g.poll == nil {
				g.poll = always(good("a"))
			}
			if g.workloads == nil {
				g.workloads = deployment(40)
			}
			g.live = testkit.Deployment("d")
			g.releases = []bundle.Release{{Name: "comp", Component: "comp"}, {Name: "later", Component: "later"}}
			r := g.run(t)
			v := r.failed(t, tc.want, tc.cause)
			r.within(t, budget, budget+time.Second)
			if tc.want == reason.PodsTooSlow && v.Status != result.Timeout {
				t.Errorf("status: got %s, want %s", v.Status, result.Timeout)
			}
		})
	}
}

// flap has a pod ready for two seconds of every four.
func flap(kube *fake.Clientset) {
	pods := kube.CoreV1().Pods(testkit.TestNamespace)
	for i := range 30 {
		time.AfterFunc(time.Duration(2*i)*time.Second, func() {
			p := testkit.Pod("d-39", "ReplicaSet", "d", "s0")
			if i%2 == 0 {
				p.Status.Conditions = nil
			}
			_, _ = pods.Update(context.Background(), p, metav1.UpdateOptions{})
		})
	}
}

// The report says what more time would have done.
func TestGateTooSlow_Rate(t *testing.T) {
	r := gateCase{
		timeout: reason.SchedulingFailed, sync: 60 * time.Second, poll: always(good("a")), live: testkit.Deployment("d"), kube: course{pods: 40, ready: each(500 * time.Millisecond)}.playFrom(45 * time.Second),
		workloads: []bundle.Workload{testkit.Expected("Deployment", "d", 40, testkit.Sys)},
	}.run(t)
	v := r.failed(t, reason.PodsTooSlow, "pods were still becoming ready")
	// Two a second; a pod that becomes ready during a poll may be counted before or after it.
	if said := fmt.Sprint(v.Details); !regexp.MustCompile(`(1\.9|2\.0|2\.1) pods became ready per second at the end; at that rate the rest would have taken about \ds`).MatchString(said) {
		t.Errorf("details: got %s, want about 2.0 pods per second", said)
	}
}

// playFrom has the pods become ready that much later.
func (c course) playFrom(late time.Duration) func(*fake.Clientset) {
	of := c.ready
	c.ready = func(i int) time.Duration { return late + of(i) }
	return c.play
}

// Once only pods are lacking, a cluster that answers fast is asked again soon.
func TestGateSoon(t *testing.T) {
	item := func(s lane.ItemState) lane.State {
		return lane.State{Items: []lane.Item{{State: lane.ItemGood}, {State: s}}}
	}
	for _, tc := range []struct {
		state lane.State
		took  time.Duration
		want  time.Duration
	}{
		{item(lane.ItemGood), time.Millisecond, soonest},
		{item(lane.ItemAccepted), 50 * time.Millisecond, 500 * time.Millisecond},
		{item(lane.ItemWaiting), time.Millisecond, 0},
		{item(lane.ItemSuspect), time.Millisecond, 0},
	} {
		g := &Gate{listTook: tc.took}
		if got := g.soon(tc.state); got != tc.want {
			t.Errorf("%v after a poll of %s: got %s, want %s", tc.state.Items[1].State, tc.took, got, tc.want)
		}
	}
}
