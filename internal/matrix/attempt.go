package matrix

import (
	"context"
	"fmt"

	"github.com/nvidia/aicr-action/internal/result"
)

// runAgain runs a cell once more, from scratch, if a program of the stack crashed. A recipe that
// makes a program crash does so again, and then the cell fails. With Keep there is no second
// attempt: the cluster of the first one is for the user to examine.
func (r *Runner) runAgain(ctx context.Context, p Plan, first finishedCell, run func(context.Context, Plan) finishedCell) finishedCell {
	if first.crash == "" || r.Keep {
		return first
	}
	attempt := result.Attempt{
		Started: first.Started, Duration: first.Duration, Reason: first.Reason, Component: first.Component, Cause: first.Cause, Crash: first.crash, Artifacts: first.Artifacts,
	}
	p.attempts = []result.Attempt{attempt}
	r.Progress.Begin(p.Cell.String()+"  Beginning again from scratch").End(fmt.Sprintf("%s crashed: %s", first.Component, first.crash), nil)
	again := run(ctx, p)
	again.Warnings = append(again.Warnings, attempt.String())
	return again
}

// attemptID returns the end of the name of the debug artifacts' directory: the run's ID and, from
// the second attempt on, the attempt's number.
func (c *cellRun) attemptID() string {
	if n := len(c.plan.attempts); n > 0 {
		return fmt.Sprintf("%s-%d", c.RunID, n+1)
	}
	return c.RunID
}
