package matrix

import (
	"context"
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/observe/placement"
)

// observe starts watching where the cell's pods are placed. It decides nothing: if the cluster
// cannot be watched, the result has a note.
func (c *cellRun) observe(ctx context.Context) {
	watches := observe.NewWatches(ctx, c.env.Clients.Kube)
	o, err := placement.Watch(ctx, watches)
	if err != nil {
		watches.Stop()
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("placement: not measured: %s", err))
		return
	}
	c.observer, c.watches = o, watches
	bounded, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	if c.seenJobs, err = observe.WatchJobs(bounded, watches); err != nil {
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("Jobs: how one ended that was deleted is not known: %s", err))
	}
	if !c.startedAhead {
		c.showPlacement()
	}
}

// showPlacement passes the observer to Watching, as soon as the cell's turn has come.
func (c *cellRun) showPlacement() {
	if c.Watching != nil && c.observer != nil {
		c.Watching(c.plan.Cell, c.observer)
	}
}

// stopObserving stops the watches before the API server stops, and computes how pods were placed
// since the deployment started.
func (c *cellRun) stopObserving() {
	if c.observer == nil {
		return
	}
	c.watches.Stop()
	if !c.deployed.IsZero() {
		c.result.Scheduling = c.observer.ComputeAll(c.deployed, time.Now(), placement.DefaultTopology())
	}
	c.observer = nil // it was stopped
}
