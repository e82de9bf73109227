package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// countedAction counts how often it is done.
type countedAction struct{ n int }

func (*countedAction) name() string   { return "counted" }
func (*countedAction) check(complain) {}
func (a *countedAction) do(context.Context, *Runner, *picker) (did, error) {
	a.n++
	return did{what: "counted"}, nil
}

// failingPolls returns clients of a cluster with one workload that never was whole. The nth poll
// fails.
func failingPolls(nth int) *infra.Clients {
	kube := fake.NewClientset(&appsv1.Deployment{ObjectMeta: meta("web")}) // a real API server cannot be made to fail one chosen request
	polls := 0
	kube.PrependReactor("list", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
		if polls++; polls == nth {
			return true, nil, errors.New("the connection was reset")
		}
		return false, nil, nil
	})
	return &infra.Clients{Kube: kube}
}

func TestRun_FirstPollFails(t *testing.T) {
	act := &countedAction{}
	plan := &Plan{Steps: []Step{{Name: "a", action: act}, {Name: "b", action: act}}}
	got := (&Runner{Clients: failingPolls(1)}).Run(t.Context(), plan)
	first, second := got.Steps[0], got.Steps[1]
	if first.Status != result.StepFailed || !strings.Contains(first.Error, "poll the workloads before the first step: ") || !strings.Contains(first.Error, "the connection was reset") {
		t.Errorf("the first step: got %s %q; want failed, with what failed", first.Status, first.Error)
	}
	if second.Status != result.StepNotRun || act.n != 0 {
		t.Errorf("got %s and %d actions; want no further step", second.Status, act.n)
	}
	for _, s := range got.Steps {
		if len(s.Hurt) > 0 {
			t.Errorf("step %s is blamed for %+v", s.Name, s.Hurt)
		}
	}
}

func TestRun_PollBeforeStepFails(t *testing.T) {
	act := &countedAction{}
	plan := &Plan{Steps: []Step{{Name: "a", action: act}, {Name: "b", action: act}}}
	got := (&Runner{Clients: failingPolls(2)}).Run(t.Context(), plan)
	first, second := got.Steps[0], got.Steps[1]
	if first.Status != result.StepFailed || !strings.Contains(first.Error, "poll the workloads before the step: ") {
		t.Errorf("the first step: got %s %q; want failed, with what failed", first.Status, first.Error)
	}
	if second.Status != result.StepPassed || act.n != 1 {
		t.Fatalf("the second step: got %s %q after %d actions; want done", second.Status, second.Error, act.n)
	}
	if len(second.Hurt) != 1 || !second.Hurt[0].Before {
		t.Errorf("got %+v; want the workload, broken before", second.Hurt)
	}
}

// A run that is over before its first poll has no failed step.
func TestRun_EndsBeforeFirstPoll(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := (&Runner{Clients: failingPolls(1)}).Run(ctx, &Plan{Steps: []Step{{Name: "a", action: &countedAction{}}}})
	if s := got.Steps[0]; s.Status != result.StepNotRun || s.Error != "" {
		t.Errorf("got %s %q", s.Status, s.Error)
	}
}
