package matrix

import (
	"context"
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/observe/placement"
)

// observe begins to watch where the cell's pods go. It decides nothing: a cluster that cannot be
// watched is a note.
func (c *cellRun) observe(ctx context.Context) {
	o, err := placement.Watch(ctx, c.env.Clients)
	if err != nil {
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("placement: not measured: %s", err))
		return
	}
	c.observer = o
	if !c.startedAhead {
		c.showPlacement()
	}
}

// showPlacement has others follow what is observed, as soon as the cell's turn has come.
func (c *cellRun) showPlacement() {
	if c.Watching != nil && c.observer != nil {
		c.Watching(c.plan.Cell, c.observer)
	}
}

// stopObserving ends the watch, before the API server does, and says how pods were placed since the
// deployment began.
func (c *cellRun) stopObserving() {
	if c.observer == nil {
		return
	}
	c.observer.Stop()
	if !c.deployed.IsZero() {
		c.result.Scheduling = c.observer.ComputeAll(c.deployed, time.Now(), placement.DefaultTopology())
	}
}
