package gate

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// An operator says only in an event that it leaves an object out.
func TestRejected(t *testing.T) {
	for name, c := range map[string]struct {
		edit      func(*corev1.Event)
		unchanged bool // no event at all
		want      string
		left      string
	}{
		"left out":                 {want: "PrometheusRule.monitoring.coreos.com x/ours is left out by its operator: ours was rejected: bad expression"},
		"nothing said":             {unchanged: true},
		"another reason":           {edit: func(e *corev1.Event) { e.Reason = "Other" }},
		"no warning":               {edit: func(e *corev1.Event) { e.Type = corev1.EventTypeNormal }},
		"another object":           {edit: func(e *corev1.Event) { e.InvolvedObject.Name = "theirs" }},
		"another group":            {edit: func(e *corev1.Event) { e.InvolvedObject.APIVersion = "example.com/v1" }},
		"before the object's last": {edit: func(e *corev1.Event) { e.CreationTimestamp.Time = e.CreationTimestamp.Add(-time.Hour) }},
		"seen again since": {
			edit: func(e *corev1.Event) {
				e.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(e.CreationTimestamp.Time)}
				e.CreationTimestamp.Time = e.CreationTimestamp.Add(-time.Hour)
			}, want: "is left out by its operator",
		},
		"what may be made": {edit: func(e *corev1.Event) { e.Message = `secrets "tls" not found` }, left: `x/ours is left out by its operator: secrets "tls" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rule := testkit.Parsed(t, "{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: ours, namespace: x}}")
				rule.SetCreationTimestamp(metav1.Now())
				event := &corev1.Event{
					ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "x", CreationTimestamp: metav1.NewTime(time.Now().Add(time.Second))}, Type: corev1.EventTypeWarning, Reason: "Invalid",
					InvolvedObject: corev1.ObjectReference{APIVersion: "monitoring.coreos.com/v1", Kind: "PrometheusRule", Namespace: "x", Name: "ours"}, Message: "ours was rejected: bad expression",
				}
				if c.edit != nil {
					c.edit(event)
				}
				kube := fake.NewClientset()
				if !c.unchanged {
					kube = fake.NewClientset(event)
				}
				env := lanetest.Env(kube, bundle.Expectation{})
				env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), rule)
				g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
				g.Awaited = []infra.Awaited{{Object: bundle.Object{Component: "c", Object: rule}, Rejects: "Invalid"}}
				begun := time.Now()
				err := wait.For(t.Context(), "the operators", wait.Options{Budget: time.Minute, Interval: time.Second}, func(ctx context.Context) wait.Result {
					if r, ok := g.checkAwaited(ctx); !ok {
						return r
					}
					r, _ := g.checkRejected(ctx)
					return r
				})
				if took := time.Since(begun); took < rejectedAfter || took > rejectedAfter+2*time.Second {
					t.Errorf("it took %s", took)
				}
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if left := strings.Join(g.leftOut, "\n"); c.left == "" && left != "" || !strings.Contains(left, c.left) {
					t.Errorf("left out: %q, want %q", left, c.left)
				}
			})
		})
	}
}

// What has not changed for a while was read meanwhile, if the operator was ready.
func TestRejected_Unchanged(t *testing.T) {
	for name, c := range map[string]struct {
		rule, other, ready time.Duration // ago
		waits              bool
	}{
		"all long ago": {time.Minute, time.Minute, time.Minute, false}, "a new rule": {0, time.Minute, time.Minute, true},
		"what it makes is new": {time.Minute, 0, time.Minute, true}, "ready just now": {time.Minute, time.Minute, 0, true}, "within the second": {2 * time.Second, time.Minute, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ago := func(d time.Duration) metav1.Time { return metav1.NewTime(time.Now().Add(-d)) }
				rule := testkit.Parsed(t, "{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: ours, namespace: x}}")
				rule.SetCreationTimestamp(ago(c.rule))
				other := testkit.Parsed(t, "{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: p, namespace: x}}")
				other.SetCreationTimestamp(ago(c.other))
				env := lanetest.Env(fake.NewClientset(), bundle.Expectation{})
				env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), rule, other)
				g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
				g.Awaited = []infra.Awaited{{Object: bundle.Object{Object: rule}, Rejects: "Invalid", Operator: "op:1"}, {Object: bundle.Object{Object: other}, Condition: "Available"}}
				pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "op:1"}}}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: ago(c.ready)}}}}
				g.View = &observe.View{Pods: []corev1.Pod{pod}}
				if _, ok := g.checkRejected(t.Context()); ok == c.waits {
					t.Errorf("it waits: %t", !ok)
				}
			})
		})
	}
}
