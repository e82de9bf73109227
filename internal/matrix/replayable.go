package matrix

import (
	"context"
	"path/filepath"
	"time"

	"github.com/nvidia/aicr-action/internal/replay"
)

// snapshotPatience is the time that a failed cell's etcd has for its snapshot, out of the evidence's own: one that hangs must not use that up.
const snapshotPatience = 20 * time.Second

// keepState leaves a snapshot of a failed cell's cluster in dir, for `matrix replay`. A cluster whose etcd is dead has none; the result says
// so in a note, and the evidence goes on.
func (c *cellRun) keepState(ctx context.Context, dir string, failure error) {
	if failure == nil || c.NoSnapshot || c.env.Cluster == nil {
		return
	}
	if err := c.saveState(ctx, filepath.Join(dir, c.env.Cluster.Name()+replay.FileSuffix), failure); err != nil {
		c.result.Notes = append(c.result.Notes, "no snapshot for matrix replay: "+err.Error())
	}
}

// saveState writes the snapshot to path.
func (c *cellRun) saveState(ctx context.Context, path string, failure error) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	v := verdictOf(failure)
	start := time.Now()
	err := c.env.Cluster.Snapshot(ctx, path, replay.About{Cell: c.plan.Cell.String(), Verdict: string(v.Status) + " " + string(v.Reason)})
	c.env.Log.Info("snapshot of the cluster", "took", time.Since(start).Round(time.Millisecond), "err", err)
	return err
}
