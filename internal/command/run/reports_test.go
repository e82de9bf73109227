package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The files are there before the first cell and after each one, as the other reports are.
func TestCIFiles_WrittenAfterEachCell(t *testing.T) {
	dir := t.TempDir()
	a := &app{App: &cli.App{Getenv: func(string) string { return "" }}}
	a.ci = &reports.CIFiles{Outputs: filepath.Join(dir, "out"), Annotations: filepath.Join(dir, "notes"), Getenv: a.Getenv}
	runner := &matrix.Runner{Platform: &embedded.Platform{Stack: &stack.Stack{}}, Inputs: matrix.Inputs{Charts: catalog.FromFS(fstest.MapFS{}, "none")}, Rerun: func(c result.Cell) string { return c.String() }}
	plans := []matrix.Plan{{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}}, {Cell: result.Cell{Recipe: "eks", Deployer: "flux-oci"}}}
	out, err := a.openReports(t.Context(), runFlags{reports: reportFlags{progress: "text"}}, &prepared{runner: runner, plans: plans})
	if err != nil {
		t.Fatal(err)
	}
	if got := outputsOf(t, a.ci.Outputs); got["total"] != "2" || got["not-run"] != "2" {
		t.Errorf("before the first cell: %v", got)
	}
	wantFile(t, a.ci.Annotations, "INTERRUPTED%3A 2 cells without a verdict::the run had not come to this cell")
	failed := result.Result{Cell: plans[0].Cell, Verdict: result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: "refused"}}
	runner.OnResult([]result.Result{failed, runner.NotRun(plans[1].Cell, result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "not yet"})})
	if got := outputsOf(t, a.ci.Outputs); got["failed"] != "1" || got["not-run"] != "1" || !strings.Contains(got["failed-cells"], `"code":51`) {
		t.Errorf("after the first cell: %v", got)
	}
	wantFile(t, a.ci.Annotations, "::error title=DEPLOY_FAILED (51) in 1 cell::refused")
	other := result.Result{Cell: plans[1].Cell, Verdict: result.Verdict{Status: result.Passed}}
	if err := a.ci.End(out.close([]result.Result{failed, other}, &cli.Reported{Err: reason.New(reason.DeployFailed, "refused")})); cli.CodeOf(err) != 51 {
		t.Errorf("got %v", err)
	}
	if got := outputsOf(t, a.ci.Outputs); got["passed"] != "1" || got["exit-code"] != "51" {
		t.Errorf("at the end: %v", got)
	}
}

// --report stands for all reports, and a path of its own goes before.
func TestReportDirectory(t *testing.T) {
	for name, tc := range map[string]struct {
		flags reportFlags
		want  report.Files
	}{
		"none": {},
		"all":  {reportFlags{dir: "out"}, report.Files{Results: "out/" + report.FileName, JUnit: "out/junit.xml", HTML: "out/report.html", Markdown: "out/summary.md", SARIF: "out/checks.sarif"}},
		"one elsewhere": {reportFlags{dir: "out", html: "page.html", results: "ctrf"},
			report.Files{Results: "ctrf/" + report.FileName, JUnit: "out/junit.xml", HTML: "page.html", Markdown: "out/summary.md", SARIF: "out/checks.sarif"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.flags.files(); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func reporterFor(t *testing.T, dir string, stdout *bytes.Buffer, progress string) (*reporter, *matrix.Runner, []matrix.Plan) {
	t.Helper()
	a := &app{App: &cli.App{Getenv: func(string) string { return "" }, Stdout: stdout}, ci: &reports.CIFiles{}}
	runner := &matrix.Runner{Platform: &embedded.Platform{Stack: &stack.Stack{}}, Inputs: matrix.Inputs{Charts: catalog.FromFS(fstest.MapFS{}, "none")}, Output: matrix.Output{RunID: "r1"}, Rerun: func(c result.Cell) string { return c.String() }}
	plans := []matrix.Plan{{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}}, {Cell: result.Cell{Recipe: "eks", Deployer: "flux-oci"}}}
	out, err := a.openReports(t.Context(), runFlags{reports: reportFlags{results: dir, progress: progress}}, &prepared{runner: runner, plans: plans})
	if err != nil {
		t.Fatal(err)
	}
	return out, runner, plans
}

// The file is written at the start and after every cell: after a kill of the run it has the
// finished cells, and shows no other cell as passed.
func TestReports_WrittenAfterEachCell(t *testing.T) {
	dir := t.TempDir()
	out, runner, plans := reporterFor(t, dir, nil, "text")
	read := func() string {
		got, err := report.Read(filepath.Join(dir, report.FileName))
		if err != nil {
			t.Fatal(err)
		}
		return report.TotalsText(got.Results)
	}
	if got := read(); got != "2 cells: 0 passed, 2 not run" {
		t.Errorf("before the first cell: got %q", got)
	}
	passed := result.Result{Cell: plans[0].Cell, Verdict: result.Verdict{Status: result.Passed}}
	runner.OnResult([]result.Result{passed, runner.NotRun(plans[1].Cell, result.Verdict{Status: result.NotRun})})
	if got := read(); got != "2 cells: 1 passed, 1 not run" {
		t.Errorf("after the first cell: got %q", got)
	}
	other := passed
	other.Cell = plans[1].Cell
	if err := out.close([]result.Result{passed, other}, nil); err != nil || read() != "2 cells: 2 passed" {
		t.Errorf("at the end: got %q, %v", read(), err)
	}
}

// A report that cannot be written makes a passing run fail, and never hides why a run failed.
func TestReports_WriteError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	out, _, _ := reporterFor(t, dir, nil, "text")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := out.close(nil, nil); cli.CodeOf(err) != 19 || !strings.Contains(err.Error(), "write the results to") {
		t.Errorf("green: got %d, %v", cli.CodeOf(err), err)
	}
	var quiet *cli.Reported
	for code, failed := range map[int]error{1: &cli.Reported{Err: reason.New(reason.SchedulingFailed, "pods")}, 50: reason.New(reason.SyncTimeout, "late"), 130: &cli.Reported{Err: &cli.Interrupt{Signal: syscall.SIGINT}}} {
		err := out.close(nil, failed)
		if cli.CodeOf(err) != code || !strings.Contains(err.Error(), failed.Error()) || !strings.Contains(err.Error(), "write the results to") || errors.As(err, &quiet) {
			t.Errorf("want code %d and both texts, got %d, %v", code, cli.CodeOf(err), err)
		}
	}
}

// --progress json: one object per line, from the run's start to its end.
func TestEventLog(t *testing.T) {
	var stdout bytes.Buffer
	out, runner, plans := reporterFor(t, t.TempDir(), &stdout, "json")
	runner.OnEvent(matrix.Event{Kind: matrix.StepBegin, Cell: plans[0].Cell, Step: "cluster", Title: "Starting the cluster"})
	runner.OnEvent(matrix.Event{Kind: matrix.StepEnd, Cell: plans[0].Cell, Step: "cluster", Title: "Starting the cluster", Duration: 4e9, Err: errors.New("no\nroom")})
	failed := result.Result{Cell: plans[0].Cell, Duration: 5e9, Verdict: result.Verdict{Status: result.Infrastructure, Reason: reason.ClusterFailed, Cause: "no room"}}
	runner.OnEvent(matrix.Event{Kind: matrix.CellEnd, Cell: plans[0].Cell, Result: &failed})
	if err := out.close([]result.Result{failed}, &cli.Reported{Err: reason.New(reason.ClusterFailed, "no room")}); cli.CodeOf(err) != 13 {
		t.Errorf("got %v", err)
	}
	var lines []map[string]any
	for s := bufio.NewScanner(&stdout); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatalf("%v in %q", err, s.Text())
		}
		if line["time"] == nil {
			t.Errorf("no time in %v", line)
		}
		lines = append(lines, line)
	}
	if len(lines) != 5 {
		t.Fatalf("got %d lines, want 5", len(lines))
	}
	for i, want := range []map[string]any{
		{"event": "run-begin", "run": "r1", "cells": 2.0},
		{"event": "step-begin", "recipe": "eks", "deployer": "helm", "step": "cluster", "durationMs": nil},
		{"event": "step-end", "step": "cluster", "durationMs": 4000.0, "error": "no\nroom"},
		{"event": "cell-end", "status": "infrastructure", "reason": "CLUSTER_FAILED", "exitCode": 13.0, "cause": "no room", "durationMs": 5000.0},
		{"event": "run-end", "exitCode": 13.0, "cells": 1.0},
	} {
		for k, v := range want {
			if lines[i][k] != v {
				t.Errorf("line %d: %s is %v, want %v", i, k, lines[i][k], v)
			}
		}
	}
}
