package matrix

import (
	"context"
	"fmt"

	"github.com/nvidia/aicr-action/internal/workflow/placement"
)

// observe begins to watch where the cell's pods go. It decides nothing: a cluster that cannot be watched is a note.
func (c *cellRun) observe(ctx context.Context) {
	if c.Watching == nil {
		return
	}
	o, err := placement.Watch(context.WithoutCancel(ctx), c.env.Clients)
	if err != nil {
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("placement: not measured: %s", err))
		return
	}
	c.observer = o
	c.Watching(c.plan.Cell, o)
}

// stopObserving ends the watch, before the API server does.
func (c *cellRun) stopObserving() {
	if c.observer != nil {
		c.observer.Stop()
	}
}
