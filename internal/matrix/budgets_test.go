package matrix

import (
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// A cell's budgets know how many pods it has, a DaemonSet one on each node, and how large its
// definitions are.
func TestBudgetsOfACell(t *testing.T) {
	base, err := lane.BudgetsFromEnv(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	profile := &simulate.Profile{Spec: simulate.ProfileSpec{NodeType: "system", Zones: []string{"a"}, Capacity: map[string]string{"pods": "10"}}}
	workloads := []bundle.Workload{{Kind: "Deployment", Replicas: 3}, {Kind: "DaemonSet", Replicas: -1}, {Kind: "DaemonSet", Replicas: -1}}
	for nodes, want := range map[int]time.Duration{6: 0, 1000: 1003 / 20 * time.Second} {
		c := &cellRun{
			cellOptions: cellOptions{Limits: Limits{Budgets: base}}, plan: Plan{nodes: []simulate.NodeGroup{{Profile: profile, Count: 2}, {Profile: profile, Count: nodes - 2}}},
			env: &lane.Env{Bundle: &bundle.Bundle{Expectation: bundle.Expectation{Workloads: workloads, DefinitionBytes: 2 << 20}}},
		}
		got := c.budgets()
		if got.Scheduling != 120*time.Second+want {
			t.Errorf("%d nodes: got %s for pods, want %s", nodes, got.Scheduling, 120*time.Second+want)
		}
		if _, sync := got.Of(infra.ArgoCDControllers); sync != 364*time.Second+want {
			t.Errorf("%d nodes and 2 MiB of definitions: got %s for the sync, want %s", nodes, sync, 364*time.Second+want)
		}
	}
}
