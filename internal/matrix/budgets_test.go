package matrix

import (
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// A cell's budgets know how many pods it has: a DaemonSet one on each node.
func TestBudgetsOfACell(t *testing.T) {
	base, err := lane.BudgetsFromEnv(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	workloads := []bundle.Workload{{Kind: "Deployment", Replicas: 3}, {Kind: "DaemonSet", Replicas: -1}, {Kind: "DaemonSet", Replicas: -1}}
	for nodes, want := range map[int]time.Duration{6: 120 * time.Second, 1000: (120 + 1003/20) * time.Second} {
		c := &cellRun{
			Runner: &Runner{Budgets: base}, plan: Plan{nodes: []simulate.NodeGroup{{Count: 2}, {Count: nodes - 2}}},
			env: &lane.Env{Bundle: &bundle.Bundle{Expectation: bundle.Expectation{Workloads: workloads}}},
		}
		if got := c.budgets().Scheduling; got != want {
			t.Errorf("%d nodes: got %s, want %s", nodes, got, want)
		}
	}
}
