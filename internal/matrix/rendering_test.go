package matrix

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// countingCharts counts how often each chart is loaded: once for every rendering of a recipe.
type countingCharts struct {
	catalog.Source
	fail error

	mu    sync.Mutex
	loads map[string]int
}

func (c *countingCharts) Load(ctx context.Context, ref catalog.Ref) (*chart.Chart, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loads == nil {
		c.loads = map[string]int{}
	}
	c.loads[ref.Name]++
	if c.fail != nil {
		return nil, "", c.fail
	}
	return c.Source.Load(ctx, ref)
}

// bundleOnly is a cell that ends when its bundle is made.
func bundleOnly(r *Runner) func(context.Context, Plan) finishedCell {
	return func(ctx context.Context, p Plan) finishedCell {
		c := r.newCell(p, NewLane(p.Deployer))
		err := c.open()
		if err == nil {
			err = c.describeCluster()
		}
		if err == nil {
			err = c.makeBundle(ctx)
		}
		c.result.Verdict = result.VerdictOf(errors.Join(err, c.env.Cluster.Down(ctx), c.log.Close()))
		return finishedCell{Result: c.result}
	}
}

// renderingRunner counts the renderings of a recipe's cells.
func renderingRunner(t *testing.T) (*Runner, *countingCharts, []Plan) {
	t.Helper()
	r := unitRunner(t)
	charts := &countingCharts{Source: r.Charts}
	r.Charts, r.Dir, r.Rerun = charts, t.TempDir(), func(result.Cell) string { return "" }
	embeddedOf(r).Ports = host.NewPorts(t.TempDir())
	plans, err := r.Plan("eks-training", bundle.Deployers())
	if err != nil {
		t.Fatal(err)
	}
	return r, charts, plans
}

// The lanes of a recipe, side by side, share one rendering; it is dropped with the last of them,
// those included that never began.
func TestRendering_OnceForAllLanes(t *testing.T) {
	r, charts, plans := renderingRunner(t)
	run := bundleOnly(r)
	var mu sync.Mutex
	over := 0
	results, err := r.runAll(t.Context(), plans, len(plans), func(ctx context.Context, p Plan) finishedCell {
		res := run(ctx, p)
		mu.Lock()
		defer mu.Unlock()
		if over++; over < len(plans) && !p.rendering.done {
			t.Errorf("%s: the rendering is gone while other lanes run", p.Cell)
		}
		return res
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range results {
		if res.Status != result.Passed || res.Components < 11 {
			t.Errorf("%s: %s %s, %d components", res.Cell, res.Status, res.Cause, res.Components)
		}
	}
	if len(charts.loads) < 8 {
		t.Errorf("only the charts %v were loaded", charts.loads)
	}
	for name, n := range charts.loads {
		if n > 2 { // Argo CD's lanes have one of their own, since gpu-operator has hooks of upgrades
			t.Errorf("chart %s was rendered %d times for %d lanes", name, n, len(plans))
		}
	}
	if left := plans[0].rendering; left.done || left.in.Recipe != nil {
		t.Error("the rendering is kept after the last lane")
	}
	for _, p := range plans {
		if files, err := filepath.Glob(filepath.Join(r.Dir, "eks-training-"+p.Cell.Deployer, "bundle", "*")); err != nil || len(files) == 0 {
			t.Errorf("%s: no bundle: %v", p.Cell, err)
		}
	}
}

// A rendering that fails is tried once, and each cell fails for the same reason.
func TestRendering_SharedError(t *testing.T) {
	r, charts, plans := renderingRunner(t)
	charts.fail = errors.New("the disk is gone")
	results, _ := r.runAll(t.Context(), plans, len(plans), bundleOnly(r))
	for _, res := range results {
		if res.Status != result.Failed || res.Reason != reason.BundleFailed {
			t.Errorf("%s: got %s %s, want %s", res.Cell, res.Status, res.Reason, reason.BundleFailed)
		}
		testkit.WantText(t, "cause", res.Cause, res.Deployer+" bundle: ", "the disk is gone")
	}
	if len(charts.loads) == 0 { // the first one, and those that were started at the same time
		t.Error("no chart was tried")
	}
	for name, n := range charts.loads {
		if n != 1 {
			t.Errorf("chart %s was tried %d times", name, n)
		}
	}
}

// A lane that is ended while it renders does not spoil the rendering for the others.
func TestRendering_Interrupted(t *testing.T) {
	_, _, plans := renderingRunner(t)
	ended, cancel := context.WithCancelCause(t.Context())
	died := errors.New("etcd ended unexpectedly")
	cancel(died)
	if _, err := plans[0].rendering.prepare(ended, plans[0].input); !errors.Is(err, died) {
		t.Errorf("the lane that was ended: %v", err)
	}
	if _, err := plans[1].rendering.prepare(t.Context(), plans[1].input); err != nil {
		t.Errorf("the next lane: %v", err)
	}
}
