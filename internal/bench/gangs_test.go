package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/workflow"
	"github.com/nvidia/aicr-action/internal/workflow/placement"
)

func gangResult(notes ...string) *workflow.Result {
	return &workflow.Result{Notes: notes, Workflows: []workflow.WorkflowResult{{Placement: &placement.Result{}}, {Placement: &placement.Result{
		MeanOccupancy: 81.6, Fragmentation: 16, TimeToSchedule: placement.Spread{Median: 1500, Max: 61000}, Gangs: placement.Gang{Jobs: 4, LongestHalf: 7300},
		Occupancy: []placement.Sample{{At: 0}, {At: 90400, Taken: 8}, {At: 95000}},
		Jobs: []placement.Job{
			{Wanted: 1}, {Wanted: 4, Placed: 4, HalfPlaced: 5000}, {Wanted: 4, Placed: 4, HalfPlaced: 7300}, {Wanted: 4, Placed: 1, HalfPlaced: 100}, {Wanted: 2},
		},
	}}}}
}

// One pod is no gang; one that waited for its last node for long was placed in part, even if it got it.
func TestGangTable(t *testing.T) {
	f, err := gangFiguresOf("default", gangResult())
	if err != nil || f.took != 90400*time.Millisecond {
		t.Fatalf("got %+v, %v", f, err)
	}
	const want = "| default | 1 | 2 | 1 | 7.3 s | 82 % | 16 | 1.5 s, 61.0 s | 90.4 s |\n"
	if got := gangTable([]gangFigures{f}); !strings.HasSuffix(got, "|--:|\n"+want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := gangFiguresOf("default", gangResult("3 have not ended")); err == nil {
		t.Error("pods that are left are not refused")
	}
	if _, err := gangFiguresOf("default", &workflow.Result{}); err == nil {
		t.Error("a run without gangs is not refused")
	}
}

// Each scheduler of the benchmark has its workflow, and all workflows fit together: 53 jobs, 49 of them of several pods.
func TestGangWorkflows(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, scheduler := range gangSchedulers() {
		var files []string
		for _, name := range []string{"nodes", scheduler, "burst"} {
			files = append(files, filepath.Join(gangFiles, name+".yaml"))
		}
		flows, problems := workflow.Read(files)
		if len(problems) == 0 {
			_, problems = workflow.Check(flows)
		}
		if err := problems.Err(); err != nil {
			t.Errorf("%s: %v", scheduler, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(gangFiles, "burst.yaml"))
	if err != nil || strings.Count(string(raw), "type: SubmitObj") != 15 {
		t.Errorf("got %v\n%s", err, raw)
	}
}
