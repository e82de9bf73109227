package matrix

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// snapshotCluster writes a given text as the snapshot.
type snapshotCluster struct{ lanetest.Cluster }

func (snapshotCluster) Snapshot(ctx context.Context, path string, about clusterstate.About) error {
	if _, bounded := ctx.Deadline(); !bounded {
		return errors.New("without a deadline, an etcd that hangs uses up the time of all evidence")
	}
	return os.WriteFile(path, []byte(about.Cell+": "+about.Verdict), 0o644)
}

// A failed cell leaves a snapshot. If it cannot be taken, the file says so, and collecting does not
// fail.
func TestStateCollectors(t *testing.T) {
	failure := reason.New(reason.SchedulingFailed, "a pod is pending")
	for name, test := range map[string]struct {
		cell    artifactsSource
		failure error
		file    string
		unread  string
	}{
		"failed":           {artifactsSource{Started: true, Env: &lane.Env{Cluster: snapshotCluster{}}}, failure, "demo/fake: failed SCHEDULING_FAILED", ""},
		"passed":           {artifactsSource{Started: true, Env: &lane.Env{Cluster: snapshotCluster{}}}, nil, "", ""},
		"--no-snapshot":    {artifactsSource{Started: true, NoSnapshot: true, Env: &lane.Env{Cluster: snapshotCluster{}}}, failure, "", ""},
		"no cluster yet":   {artifactsSource{Env: &lane.Env{Cluster: snapshotCluster{}}}, failure, "", ""},
		"it was not taken": {artifactsSource{Started: true, Env: &lane.Env{Cluster: lanetest.Cluster{}}}, failure, "", "no snapshot for matrix replay: not a real cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := test.cell
			c.Env.Log, c.Env.Cell = slog.New(slog.DiscardHandler), result.Cell{Recipe: "demo", Deployer: "fake"}
			var said string
			for _, col := range c.stateCollectors(test.failure) {
				err := col.make(t.Context(), filepath.Join(dir, col.name))
				var unread *infra.UnreadError
				if errors.As(err, &unread) {
					said = err.Error()
				} else if err != nil {
					t.Errorf("got %v, which would be a failure of the evidence", err)
				}
			}
			raw, err := os.ReadFile(filepath.Join(dir, "fake"+clusterstate.FileSuffix))
			if string(raw) != test.file || (err == nil) != (test.file != "") {
				t.Errorf("the file has %q (%v), want %q", raw, err, test.file)
			}
			if said != test.unread {
				t.Errorf("got %q, want %q", said, test.unread)
			}
		})
	}
}
