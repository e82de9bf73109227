package run

import (
	"context"
	"runtime"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// After an interrupt, cells that did not start are listed as not run, in their order.
func TestRun_AfterInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.Interrupt{Signal: syscall.SIGINT})
	var plans []matrix.Plan
	for _, d := range bundle.Deployers() {
		plans = append(plans, matrix.Plan{Cell: result.Cell{Recipe: "eks", Deployer: d.Name()}, Deployer: d})
	}
	runner := &matrix.Runner{Platform: &embedded.Platform{Stack: &stack.Stack{}}, Inputs: matrix.Inputs{Charts: catalog.FromFS(nil, "simulated")}, Rerun: func(c result.Cell) string { return "again " + c.String() }}
	for _, n := range []int{1, 2, 9} {
		results, struck := runner.RunAll(ctx, plans, n)
		if len(results) != len(plans) {
			t.Fatalf("%d at a time: got %d results, want %d", n, len(results), len(plans))
		}
		for i, r := range results {
			if r.Cell != plans[i].Cell || r.Status != result.NotRun || r.Reason != reason.Interrupted || r.Rerun != "again "+r.Cell.String() {
				t.Errorf("%d at a time: got %+v, want cell %s as not run", n, r, plans[i].Cell)
			}
		}
		if got := cli.CodeOf(reports.RunError(ctx, results, struck)); got != 130 {
			t.Errorf("got code %d, want 130", got)
		}
	}
	if got, _ := runner.RunAll(ctx, nil, 2); len(got) != 0 {
		t.Errorf("no plans: got %+v", got)
	}
}

func TestParallelCells(t *testing.T) {
	here, inDocker := platform.All()[0], platform.All()[1]
	tests := []struct {
		port         string
		asked, cells int
		on           platform.Platform
		reused       bool
		want         func(int) bool
	}{
		{"", 3, 4, here, false, func(n int) bool { return n == 3 }},
		{"", 9, 4, inDocker, false, func(n int) bool { return n == 4 }},
		{"", 0, 1, here, false, func(n int) bool { return n == 1 }},
		{"", 0, 100, here, false, func(n int) bool { return n >= 1 && n <= 4 }},
		{"", 0, 100, inDocker, false, func(n int) bool { return n == max(1, runtime.NumCPU()/4) }},
		{"", 2, 0, here, false, func(n int) bool { return n == 1 }},
		{"", 0, 4, inDocker, true, func(n int) bool { return n == 1 }},
		{"5500", 0, 4, here, false, func(n int) bool { return n == 1 }},
	}
	for _, tc := range tests {
		a := &app{App: &cli.App{Getenv: func(name string) string {
			if name == "KWOK_REGISTRY_HOST_PORT" {
				return tc.port
			}
			return ""
		}}}
		if got := a.cellsAtATime(tc.asked, tc.cells, schedule.FootprintCell, tc.on, tc.reused); !tc.want(got) {
			t.Errorf("port %q, asked for %d, %d cells: got %d", tc.port, tc.asked, tc.cells, got)
		}
	}
}

// The flag goes before the variable, also to switch it off.
func TestPlainControllers(t *testing.T) {
	for variable, want := range map[string]bool{"": false, "true": true, "1": true, "false": false} {
		a := &app{App: &cli.App{Getenv: func(name string) string {
			if name == "AICR_ACTION_PLAIN_CONTROLLERS" {
				return variable
			}
			return ""
		}}}
		if got, err := a.plainControllers(runFlags{}); err != nil || got != want {
			t.Errorf("%q: got %v, %v", variable, got, err)
		}
		for _, flag := range []bool{true, false} {
			if got, err := a.plainControllers(runFlags{pace: pace{plain: flag, plainSet: true}}); err != nil || got != flag {
				t.Errorf("%q and the flag %v: got %v, %v", variable, flag, got, err)
			}
		}
	}
}
