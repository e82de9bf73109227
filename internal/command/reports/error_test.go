package reports

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Interrupts first, then the machine, then recipes; the first in order of the cells.
func TestRunError(t *testing.T) {
	interrupted := &cli.Interrupt{Signal: syscall.SIGTERM}
	cell := func(status result.Status, r reason.Reason) result.Result {
		return result.Result{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Verdict: result.Verdict{Status: status, Reason: r, Cause: "because"}}
	}
	passed, skipped := cell(result.Passed, ""), cell(result.Skipped, reason.NoProfile)
	timeout, failed := cell(result.Timeout, reason.SyncTimeout), cell(result.Failed, reason.SchedulingFailed)
	refused := cell(result.Failed, reason.DeployFailed)
	died, port := cell(result.Infrastructure, reason.ComponentDied), cell(result.Infrastructure, reason.PortTaken)
	notRun := cell(result.NotRun, reason.Interrupted)
	late := cell(result.NotRun, reason.JobDeadline)
	struck := reason.New(reason.SyncTimeout, "three strikes")
	tests := map[string]struct {
		cause   error
		struck  error
		results []result.Result
		want    int
		loud    bool // the report has not said it yet
	}{
		"all passed":                     {nil, nil, []result.Result{passed, passed}, 0, false},
		"passed and skipped":             {nil, nil, []result.Result{passed, skipped}, 0, false},
		"all skipped is not a pass":      {nil, nil, []result.Result{skipped, skipped}, 2, true},
		"no cell at all is not a pass":   {nil, nil, nil, 2, true},
		"one failed":                     {nil, nil, []result.Result{passed, failed, passed}, 1, false},
		"the first of two failures":      {nil, nil, []result.Result{refused, failed}, 51, false},
		"a failure before a timeout":     {nil, nil, []result.Result{timeout, failed}, 1, false},
		"a timeout":                      {nil, nil, []result.Result{passed, timeout}, 50, false},
		"the machine before recipes":     {nil, nil, []result.Result{failed, timeout, died}, 14, false},
		"the first of the machine's":     {nil, nil, []result.Result{failed, port, died}, 16, false},
		"an interrupt before everything": {interrupted, nil, []result.Result{passed, died, failed, notRun}, 143, false},
		"an interrupt after the last":    {interrupted, nil, []result.Result{passed}, 143, false},
		"no time for one":                {nil, nil, []result.Result{passed, late}, 55, false},
		"a failure before no time":       {nil, nil, []result.Result{late, failed}, 1, false},
		"strikes before failures":        {nil, struck, []result.Result{died, failed, timeout}, 50, true},
		"an interrupt before strikes":    {interrupted, struck, []result.Result{timeout}, 143, false},
		"a cell that never ran":          {nil, nil, []result.Result{passed, notRun}, 19, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tc.cause != nil {
				cancel(tc.cause)
			}
			err := RunError(ctx, tc.results, tc.struck)
			if got := cli.CodeOf(err); got != tc.want {
				t.Errorf("got code %d (%v), want %d", got, err, tc.want)
			}
			var quiet *cli.Reported
			if err != nil && errors.As(err, &quiet) == tc.loud {
				t.Errorf("said again after the report: got %v, want %v (%v)", !tc.loud, tc.loud, err)
			}
		})
	}
}
