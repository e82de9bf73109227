package reports

import (
	"context"
	"fmt"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// RunError is the run's error: nil only if every cell passed. With several failures the code is
// that of the most urgent one, in this order: interrupts, the strikes that ended the run, the
// machine, recipes, and cells without enough time.
func RunError(ctx context.Context, results []result.Result, struck error) error {
	if cause := context.Cause(ctx); cause != nil {
		return &cli.Reported{Err: cause}
	}
	if struck != nil {
		return struck
	}
	for _, want := range []result.Status{result.Infrastructure, result.Failed, result.Timeout, result.NotRun} {
		for _, r := range results {
			if r.Status == want {
				return &cli.Reported{Err: &reason.Error{Reason: r.Reason, Component: r.Component, Err: fmt.Errorf("%s: %s", r.Cell, r.Cause)}}
			}
		}
	}
	passed := 0
	for _, r := range results {
		switch r.Status {
		case result.Passed, result.Reused:
			passed++
		case result.Skipped:
		default:
			return &cli.Reported{Err: reason.New(reason.Internal, "cell %s ended as %q", r.Cell, r.Status)}
		}
	}
	if passed == 0 {
		return reason.New(reason.Usage, "no cell was run: nothing was checked")
	}
	return nil
}
