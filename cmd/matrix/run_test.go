package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
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
			err := runError(ctx, tc.results, tc.struck)
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
		if got := cli.CodeOf(runError(ctx, results, struck)); got != 130 {
			t.Errorf("got code %d, want 130", got)
		}
	}
	if got, _ := runner.RunAll(ctx, nil, 2); len(got) != 0 {
		t.Errorf("no plans: got %+v", got)
	}
}

func TestParallelCells(t *testing.T) {
	here, inDocker := platforms()[0], platforms()[1]
	tests := []struct {
		port         string
		asked, cells int
		on           platform
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
		a := &app{App: cli.App{Getenv: func(name string) string {
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
		a := &app{App: cli.App{Getenv: func(name string) string {
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

// The command in a report must run the same cell again, with the same charts and recipes.
func TestRerunCommand(t *testing.T) {
	cell := result.Cell{Recipe: "eks", Deployer: "helm"}
	simulated := []string{cli.Simulated}
	tests := map[string]runFlags{
		"matrix run eks --deployer helm --keep":                                 {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}},
		"matrix run eks --deployer helm --charts simulated --keep":              {sourceFlags: sourceFlags{charts: simulated, usualCharts: []string{charts.UpstreamName}}},
		"matrix run eks --deployer helm --charts ./c --keep":                    {sourceFlags: sourceFlags{charts: []string{"./c"}}},
		"matrix run eks --deployer helm --charts ./c --charts simulated --keep": {sourceFlags: sourceFlags{charts: []string{"./c", "simulated"}}},
		"matrix run eks --deployer helm --charts ./c --recipes-dir ./r --keep":  {sourceFlags: sourceFlags{charts: []string{"./c"}, recipes: cli.RecipeDirs{Recipes: "./r"}}},
		"matrix run eks --deployer helm --recipes-dir ./r --data ./d --keep":    {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated, recipes: cli.RecipeDirs{Recipes: "./r", Data: "./d"}}},
		"matrix run eks --deployer helm --profiles ./p --keep":                  {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated, profiles: "./p"}},
		"matrix run eks --deployer helm --bundler exec --aicr ./aicr --keep":    {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, bundles: bundlerFlags{bundler: execBundler, aicr: "./aicr"}},
		"matrix run eks --deployer helm --bundle-dir ./b --service eks --accelerator h100 --keep": {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, bundles: bundlerFlags{
			bundler: builtinBundler, dir: "./b", service: "eks", accelerator: "h100",
		}},
		"matrix run eks --deployer helm --kubernetes 1.34 --keep":                         {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, platform: platformFlags{kubernetes: "1.34"}},
		"matrix run eks --deployer helm --plain-controllers --keep":                       {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, pace: pace{plain: true}},
		"matrix run eks --deployer helm --probes --controller trainer --keep":             {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, afterGate: afterGate{probes: true, controllers: []string{"trainer"}}},
		"matrix run eks --deployer helm --ignore MX102=Job/x/m --only MX101,MX102 --keep": {sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, ignored: ignoreFlags{ignore: []string{"MX102=Job/x/m"}, only: []string{"MX101", "MX102"}}},
		"matrix run eks --deployer helm --probes --keep":                                  runFlags{sourceFlags: sourceFlags{charts: simulated, usualCharts: simulated}, afterGate: afterGate{probes: true, controllers: []string{"trainer"}}}.withControllers(false),
	}
	for want, f := range tests {
		if got := rerunCommand("matrix", "", cell, f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, charts := range map[string][]string{"matrix run eks --deployer helm --keep": {cli.AutoCharts}, "matrix run eks --deployer helm --charts upstream --keep": {"upstream"}} {
		a := &app{App: cli.New(func(string) string { return "" }, io.Discard, io.Discard)}
		f := runFlags{deployers: []string{"helm"}, sourceFlags: sourceFlags{charts: charts, recipes: cli.RecipeDirs{Recipes: cli.InBinary}}, platform: platformFlags{cluster: defaultPlatform().name}}
		if _, err := a.validateFlags([]string{"eks"}, &f); err != nil {
			t.Fatal(err)
		}
		f.recipes.Recipes = ""
		if got := rerunCommand("matrix", "", cell, f); got != want {
			t.Errorf("charts %q, as every command has them: got %q, want %q", charts, got, want)
		}
	}
	const want = "matrix run eks --deployer helm --charts 'my charts; true' --settings own.yaml --keep"
	if got := rerunCommand("matrix", "own.yaml", cell, runFlags{sourceFlags: sourceFlags{charts: []string{"my charts; true"}}}); got != want {
		t.Errorf("another file of settings, and a name that a shell would read otherwise: got %q, want %q", got, want)
	}
}

// A signal during the build of the stack, or while another build is waited for, ends the program
// with the signal's code.
func TestRun_InterruptBeforeStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.Interrupt{Signal: syscall.SIGINT})
	for _, locked := range []bool{false, true} {
		cache := t.TempDir()
		path := strings.TrimSpace(invokeIn(t.Context(), t, cache, nil, "stack", "path").stdout)
		if !strings.HasPrefix(path, cache) {
			t.Fatalf("stack path: got %q, want it in %s", path, cache)
		}
		if locked {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			lock := flock.New(filepath.Join(path, "build.lock"))
			if err := lock.Lock(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = lock.Unlock() }()
		}
		r := invokeIn(ctx, t, cache, nil, "run", "eks", "--deployer", "helm")
		if r.code != 130 {
			t.Errorf("another build: %v: got code %d, want 130; stderr:\n%s", locked, r.code, r.stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(path, "bin", "*")); len(left) > 0 {
			t.Errorf("a build that was ended left %q", left)
		}
	}
}
