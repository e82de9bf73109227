package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// Writers that undo each other's work without end are red, with both and the field. Those that only
// add to it, or that count, are not: only a value that comes back shows a fight.
func TestFought(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	workload := func(component string) bundle.Workload {
		return bundle.Workload{Component: component, Kind: "Deployment", Namespace: component, Name: "operator", PodSpec: corev1.PodSpec{ServiceAccountName: "op"}}
	}
	for _, c := range []struct {
		name, object string // of the object at turn %d, with %s for the writer
		status       bool
		want         []string // of the finding; nil: none
	}{
		{"a field", "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: ns, annotations: {hash: %[2]s}}, spec: {image: %[2]s, other: 1}, status: {turn: %[1]d}}", false, []string{
			"StatefulSet ns/x never settles: Deployment a/operator (component a, as ServiceAccount a/op) and Deployment b/operator (component b, as ServiceAccount b/op) write it in turns",
			"spec.image changes back and forth: \"", "metadata.annotations.hash changes back and forth", "Let only one of them own the object",
		}},
		{"a field that one removes", "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: ns}, spec: {%[2]s: 1, list: [1]}}", false, []string{"spec.one changes back and forth: "}},
		{"a condition", "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: ns}, status: {conditions: [{type: Ready, message: by %[2]s, at: %[1]d}]}}", true, []string{"status.conditions[0].message changes back and forth"}},
		{"the rest of it", "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: ns}, spec: {image: %[2]s}, status: {turn: %[1]d}}", true, nil},
		{"a time", "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: ns}, spec: {%[2]s: '2026-01-01T00:00:00Z', turn: %[1]d}}", false, nil},
		{"a count", "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: ns, resourceVersion: '%[1]d'}, spec: {turn: %[1]d}}", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				state := func(turn int) *unstructured.Unstructured {
					return testkit.Parsed(t, fmt.Sprintf(c.object+" # %[1]d%[2]s", turn, []string{"one", "two"}[turn%2]))
				}
				env := lanetest.Env(fake.NewClientset(), bundle.Expectation{Workloads: []bundle.Workload{workload("a"), workload("b")}})
				client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), state(0))
				env.Clients.Dynamic = client
				g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
				var turn atomic.Int32
				g.Contested = func() ([]infra.Contest, error) {
					return []infra.Contest{{Resource: resource, Namespace: "ns", Name: "x", Status: c.status, Writers: []string{"a/op", "b/op"}, Turns: int(turn.Load()), Last: time.Now()}}, nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					for ctx.Err() == nil && turn.Add(1) < 100 {
						if _, err := client.Resource(resource).Namespace("ns").Update(ctx, state(int(turn.Load())), metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
							t.Error(err)
						}
						select {
						case <-ctx.Done():
						case <-time.After(time.Second / 2):
						}
					}
				}()
				var err error
				begun := time.Now()
				for time.Since(begun) < 20*time.Second && err == nil {
					err = g.failedFights(ctx)
					if err == nil && turn.Load() > 1 && g.contested == "" {
						t.Fatal("what is written in turns could pass at once")
					}
					<-time.After(time.Second)
				}
				if len(c.want) == 0 {
					if err != nil {
						t.Errorf("got %v", err)
					}
					return
				}
				var failed *result.Failure
				if !errors.As(err, &failed) || reason.Of(err) != reason.NeverSettles || failed.Findings[0].Component != "a" {
					t.Fatalf("got %v", err)
				}
				screen := strings.Join(append([]string{failed.Findings[0].Cause}, failed.Findings[0].Story...), "\n")
				for _, part := range c.want {
					testkit.WantText(t, "finding", screen, part)
				}
			})
		})
	}
}

// A fight for an object shows in the status of its owner too, at times before it shows in the object:
// the object is what is reported.
func TestFought_StatusFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
		states := func(turn int) []*unstructured.Unstructured {
			by := []string{"one", "two"}[turn%2]
			return []*unstructured.Unstructured{
				testkit.Parsed(t, fmt.Sprintf("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: owner, namespace: ns}, status: {conditions: [{message: %s}]}}", by)),
				testkit.Parsed(t, fmt.Sprintf("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: owned, namespace: ns}, spec: {image: %s}}", by)),
			}
		}
		env := lanetest.Env(fake.NewClientset(), bundle.Expectation{})
		first := states(0)
		client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), first[0], first[1])
		env.Clients.Dynamic = client
		g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
		var turn atomic.Int32
		g.Contested = func() ([]infra.Contest, error) {
			turns := int(turn.Load())
			return []infra.Contest{
				{Resource: resource, Namespace: "ns", Name: "owner", Status: true, Writers: []string{"a/op", "b/op"}, Turns: turns, Last: time.Now()},
				{Resource: resource, Namespace: "ns", Name: "owned", Writers: []string{"b/op", "a/op"}, Turns: turns / 3, Last: time.Now()},
			}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil && turn.Add(1) < 100 {
				for _, o := range states(int(turn.Load())) {
					if _, err := client.Resource(resource).Namespace("ns").Update(ctx, o, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Second / 2):
				}
			}
		}()
		var err error
		for begun := time.Now(); time.Since(begun) < 20*time.Second && err == nil; {
			err = g.failedFights(ctx)
			<-time.After(time.Second)
		}
		var failed *result.Failure
		if !errors.As(err, &failed) || failed.Findings[0].Object.Name != "owned" || !strings.Contains(strings.Join(failed.Findings[0].Story, "\n"), "spec.image changes back and forth") {
			t.Fatalf("got %v, want the object that is owned", err)
		}
	})
}
