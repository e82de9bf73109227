package report

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// A warning that a cell had in the run before is folded everywhere and counted; what is new comes
// first. A warning that another cell had is new.
func TestUnchangedWarnings(t *testing.T) {
	run := func(id string, warnings ...string) *Report {
		cell := result.Result{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Phases: []result.Phase{{Name: "sync", Duration: time.Second}}, Warnings: warnings}
		cell.Status = result.Passed
		return &Report{Meta: Meta{CI: CI{RunID: id}}, Results: []result.Result{cell}}
	}
	h, err := ReadPast(filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	first := run("41", "a has no effect", "b has no effect")
	if got := terminalOf(t, first); !strings.Contains(got, "warning: a has") || strings.Contains(got, "unchanged") {
		t.Errorf("without a history: %s", got)
	}
	first.CompareWith(h)
	r := run("42", "a has no effect", "c is new", "b has no effect")
	r.CompareWith(h)
	if got := r.Results[0].OldWarnings; !slices.Equal(got, []int{0, 2}) {
		t.Errorf("old warnings: %v", got)
	}
	terminal := terminalOf(t, r)
	if !strings.Contains(terminal, "warning: c is new") || strings.Contains(terminal, "a has") || !strings.Contains(terminal, "not shown: 2 warnings unchanged since run 41") {
		t.Errorf("terminal: %s", terminal)
	}
	r.Explain = true
	if got := terminalOf(t, r); !strings.Contains(got, "warning: a has") {
		t.Errorf("--explain: %s", got)
	}
	summary := r.markdown(1 << 20)
	if fresh, old := strings.Index(summary, "c is new"), strings.Index(summary, "Unchanged since run `41`"); fresh < 0 || old < fresh || strings.Index(summary, "a has") < old || !strings.Contains(summary, "Warnings: 1 new, 2 unchanged") {
		t.Errorf("summary: %s", summary)
	}
	var page strings.Builder
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "<summary>Warnings: 1 new, 2 unchanged</summary>") || !strings.Contains(page.String(), "<p>Unchanged since run 41:</p><ul><li>a has no effect</li>") {
		t.Error("the page does not fold what is unchanged")
	}
	if last := h.Runs[len(h.Runs)-1].Warnings["eks/helm"]; len(last) != 3 {
		t.Errorf("the history has %q", last)
	}
	other := run("43", "a has no effect")
	other.Results[0].Deployer = "flux-oci"
	if other.CompareWith(h); len(other.Results[0].OldWarnings) > 0 {
		t.Errorf("another cell's warning counts as old: %v", other.Results[0].OldWarnings)
	}
}
