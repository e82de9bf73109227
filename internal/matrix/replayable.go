package matrix

import (
	"context"
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/result"
)

// snapshotPatience bounds the snapshot of a failed cell's etcd, as part of Budget: an etcd that
// hangs must not use that up.
const snapshotPatience = 20 * time.Second

// stateCollectors write the snapshot of a failed cell's cluster, for `matrix replay`; none with
// NoSnapshot. Without a live etcd there is no snapshot; the summary says so.
func (c *artifactsSource) stateCollectors(failure error) []collector {
	if failure == nil || c.NoSnapshot || !c.Started {
		return nil
	}
	return []collector{{
		name: c.Env.Cluster.Name() + clusterstate.FileSuffix, what: "the cluster's state without the values of Secrets: `matrix replay` boots it again",
		make: func(ctx context.Context, path string) error {
			if err := c.saveState(ctx, path, failure); err != nil {
				return &infra.UnreadError{Err: fmt.Errorf("no snapshot for matrix replay: %w", err)}
			}
			return nil
		},
	}}
}

// saveState writes the snapshot to path.
func (c *artifactsSource) saveState(ctx context.Context, path string, failure error) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	v := result.VerdictOf(failure)
	start := time.Now()
	err := c.Env.Cluster.Snapshot(ctx, path, clusterstate.About{Cell: c.Env.Cell.String(), Verdict: string(v.Status) + " " + string(v.Reason)})
	c.Env.Log.Info("snapshot of the cluster", "took", time.Since(start).Round(time.Millisecond), "err", err)
	return err
}
