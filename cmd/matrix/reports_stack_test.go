package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
)

// A run on the real stack that is interrupted in its second cell: the reports have the first one
// with every pod on its node, the second as interrupted, and the events tell the same.
func TestReports_InterruptedRun(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	dir, verdicts := t.TempDir(), t.TempDir()
	r := p.start(t, nil, "run", "eks", "eks-training", "--deployer", "helm", "--parallel", "1", "--progress", "json", "--reuse", verdicts, "--results", dir, "--html", filepath.Join(dir, "report.html"))
	r.until(t, "eks-training/helm  Starting the cluster")
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatalf("interrupt: %v", err)
	}
	r.wait(t, 3*time.Minute)
	if code := r.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("got code %d, want 130; stderr:\n%s", code, r.stderr)
	}
	got, err := report.Read(filepath.Join(dir, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 2 || got.Results[0].Status != result.Passed || got.Results[1].Status != result.Interrupted {
		t.Fatalf("got %s, want one passed and one interrupted", report.TotalsText(got.Results))
	}
	first := got.Results[0]
	if first.Placement == nil || len(first.Placement.Nodes) != 6 || len(first.Placement.Unplaced) != 0 {
		t.Fatalf("got placement %+v, want six nodes and no pod without one", first.Placement)
	}
	placed, gpus := 0, 0
	for _, n := range first.Placement.Nodes {
		gpus += n.GPUs
		for _, g := range n.Pods {
			placed += len(g.Pods)
			if g.Misplaced != "" || g.Component == "" {
				t.Errorf("node %s: %+v is misplaced or of no component", n.Name, g)
			}
		}
	}
	if placed < first.Pods || placed == 0 || gpus != 32 {
		t.Errorf("got %d placed pods and %d GPUs, want the %d that were verified and 32", placed, gpus, first.Pods)
	}
	var events []string
	for _, line := range strings.Split(strings.TrimSpace(r.stdout.String()), "\n") {
		_, event, _ := strings.Cut(line, `"event":"`)
		event, _, _ = strings.Cut(event, `"`)
		events = append(events, event)
	}
	if len(events) < 15 || events[0] != "run-begin" || events[len(events)-1] != "run-end" || !slices.Contains(events, "cell-end") {
		t.Errorf("got events %q", events)
	}
	wantText(t, "the last event", r.stdout.String(), `"interrupted":1`, `"passed":1`, `"exitCode":130`)
	wantText(t, "stderr", r.stderr.String(), "2 cells: 1 passed, 1 interrupted")
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "the page", string(page), "accelerated-0", "p5.48xlarge", "interrupted")

	// What passed is not run again, and what was interrupted would be.
	p.run(t, time.Minute, nil, "run", "eks", "--deployer", "helm", "--reuse", verdicts).want(t, 0, "1 of 1 cells passed already", "reused: passed in run "+got.Meta.RunID, "1 cell: 0 passed, 1 reused")
	p.run(t, time.Minute, nil, "why-run", "eks-training/helm", "--reuse", verdicts).want(t, 0, "eks-training/helm runs: helm has not passed in a run that kept it")
}
