package gate

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// A custom resource is there, all else is ready, and its operator makes nothing of it.
func TestUnmade(t *testing.T) {
	cr := testkit.Parsed(t, `{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: main, namespace: x}, status: {conditions: [
		{type: Reconciled, status: "False", message: no version tea}, {type: Degraded, status: "False", message: prometheus-main not found}, {type: Available, status: "True", message: fine}]}}`)
	workload := testkit.Expected("StatefulSet", "prometheus-main", 1, testkit.Sys)
	workload.Operator = "Prometheus x/main"
	unmade := observe.WaitingWorkload{Workload: &workload, Text: "not made yet from Prometheus x/main", Unmade: true}
	other := testkit.Expected("Deployment", "d", 1, testkit.Sys)
	slow := observe.WaitingWorkload{Workload: &other, Text: "0 of 1 pods", Started: true}
	release := is("comp", lane.ItemWaiting, "progressing")
	for name, c := range map[string]struct {
		items   []lane.Item
		waiting []observe.WaitingWorkload
		absent  bool // the custom resource is
		want    string
	}{
		"nothing else is waited for": {items: []lane.Item{good("comp")}, waiting: []observe.WaitingWorkload{unmade}, want: "StatefulSet ns/prometheus-main: not made yet from Prometheus x/main; its status says Reconciled=False: no version tea; nothing else is waited for, and nothing has changed for 20s"},
		"its deployer waits for it":  {items: []lane.Item{release}, waiting: []observe.WaitingWorkload{unmade}, want: "not made yet"},
		"another release is open":    {items: []lane.Item{is("another", lane.ItemWaiting, "progressing"), release}, waiting: []observe.WaitingWorkload{unmade}},
		"another workload is late":   {items: []lane.Item{release}, waiting: []observe.WaitingWorkload{slow, unmade}},
		"not applied yet":            {items: []lane.Item{release}, waiting: []observe.WaitingWorkload{unmade}, absent: true},
		"all is made":                {items: []lane.Item{release}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := lanetest.Env(fake.NewClientset(), bundle.Expectation{Objects: []bundle.Object{{Component: "comp", Object: cr}}, Releases: []bundle.Release{{Name: "comp", Component: "comp"}}})
				env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
				if !c.absent {
					env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), cr)
				}
				g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
				report := observe.WorkloadReport{Waiting: slices.Clone(c.waiting)}
				g.lastReport = report
				begun := time.Now()
				for time.Since(begun) < unmadeFor {
					if f := g.failedUnmade(t.Context(), lane.State{Items: c.items}, report); f != nil {
						t.Fatalf("after %s: %v", time.Since(begun), f)
					}
					time.Sleep(time.Second)
				}
				f := g.failedUnmade(t.Context(), lane.State{Items: c.items}, report)
				if (f == nil) != (c.want == "") {
					t.Fatalf("got %v, want %q", f, c.want)
				}
				if f != nil {
					testkit.WantText(t, "cause", f.Cause(), c.want)
				}
			})
		})
	}
}
