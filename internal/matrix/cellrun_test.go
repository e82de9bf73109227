package matrix

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// Errors of ending a cell do not change its verdict. The result has them too.
func TestVerdictAfter(t *testing.T) {
	red := reason.New(reason.SchedulingFailed, "no node")
	incomplete := reason.New(reason.NoSpace, "collect the debug artifacts: cell.json: no space left on device")
	for name, c := range map[string]struct {
		err, closing error
		want         reason.Reason
		warnings     string
	}{
		"green":                    {nil, nil, "", ""},
		"green, something is left": {nil, incomplete, reason.NoSpace, ""},
		"red":                      {red, nil, reason.SchedulingFailed, ""},
		"red, evidence is not whole": {red, errors.Join(incomplete, errors.New("remove the cluster: busy")), reason.SchedulingFailed,
			"collect the debug artifacts: cell.json: no space left on device\nremove the cluster: busy"},
	} {
		cell := &cellRun{env: lanetest.Env(fake.NewClientset(), bundle.Expectation{})}
		cell.env.Log = slog.New(slog.DiscardHandler)
		if err := cell.verdictAfter(c.err, c.closing); reason.Of(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if got := strings.Join(cell.result.Warnings, "\n"); got != c.warnings {
			t.Errorf("%s: warnings\n%s\nwant\n%s", name, got, c.warnings)
		}
	}
}

// keptCluster notes what it was given to be kept in.
type keptCluster struct {
	lanetest.Cluster
	kept, down context.Context
}

func (c *keptCluster) Keep(ctx context.Context, _ map[string][]byte) error {
	c.kept = ctx
	return nil
}

func (c *keptCluster) Down(ctx context.Context) error {
	c.down = ctx
	return nil
}

// Keeping and removing a cluster have their own time limit: the cell's time is over, and collecting
// debug artifacts may have used its whole budget.
func TestClose_TimeLimit(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "harness.log"))
	if err != nil {
		t.Fatal(err)
	}
	cluster := &keptCluster{}
	cell := &cellRun{
		cellOptions: cellOptions{Output: Output{Keep: true}}, env: lanetest.Env(fake.NewClientset(), bundle.Expectation{}), log: log, dir: t.TempDir(),
		lane: NewLane(deployers(t, bundle.Helm)[0]),
	}
	cell.env.Cluster, cell.env.Bundle = cluster, &bundle.Bundle{}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cell.close(ended, errors.New("red")); err != nil {
		t.Fatal(err)
	}
	for what, ctx := range map[string]context.Context{"Keep": cluster.kept, "Down": cluster.down} {
		if _, limited := ctx.Deadline(); limited || ctx.Err() != nil {
			t.Errorf("%s got a context with a deadline, or one that has ended", what)
		}
	}
}
