package matrix

import (
	"context"
	"fmt"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
)

// runChaos is the last step of a cell that has passed all others. Its outcome is in the result and
// changes no verdict: only the recipe's author knows which failures the recipe must survive. A step
// that could not be done is a warning.
func (c *cellRun) runChaos(ctx context.Context) error {
	runner := &chaos.Runner{Clients: c.env.Clients, Tell: c.env.Tell, Begin: func(step string) func(string) {
		c.env.Log.Info("chaos step", "name", step)
		return func(end string) { c.env.Log.Info("chaos step ended", "name", step, "end", end) }
	}}
	c.result.Chaos = runner.Run(ctx, c.chaos)
	for i := range c.result.Chaos.Steps {
		if s := &c.result.Chaos.Steps[i]; s.Status == result.ChaosFailed {
			c.result.Warnings = append(c.result.Warnings, fmt.Sprintf("chaos step %s (%s:%d) could not be done: %s", s.Name, c.chaos.File, s.Line, s.Error))
		}
	}
	return ctx.Err()
}
