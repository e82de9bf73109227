package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/workflow"
)

func gangResult(t *testing.T, change func(*workflow.Result)) []byte {
	t.Helper()
	r := workflow.Result{Workflows: []workflow.WorkflowResult{{Placement: &placement.Result{}}, {Placement: &placement.Result{
		MeanOccupancy: 81.6, Fragmentation: 16, TimeToSchedule: placement.Spread{Median: 1500, Max: 61000}, Gangs: placement.Gang{Jobs: 4, LongestHalf: 7300},
		Occupancy: []placement.Sample{{At: 0}, {At: 90400, Taken: 8}, {At: 95000}},
		Jobs: []placement.Job{
			{Wanted: 1}, {Wanted: 4, Placed: 4, HalfPlaced: 5000}, {Wanted: 4, Placed: 4, HalfPlaced: 7300}, {Wanted: 4, Placed: 1, HalfPlaced: 100}, {Wanted: 2},
		},
	}}}}
	if change != nil {
		change(&r)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// One pod is no gang; one that waited for its last node for long was placed in part, even if it got
// it.
func TestGangTable(t *testing.T) {
	f, err := gangFiguresOf("default", nil, gangResult(t, nil))
	if err != nil || f.took != 90400*time.Millisecond {
		t.Fatalf("got %+v, %v", f, err)
	}
	const want = "| default | 1 | 2 | 1 | 7.3 s | 82 % | 16 | 1.5 s, 61.0 s | 90.4 s |\n"
	if got := gangTable([]gangFigures{f}); !strings.HasSuffix(got, "|--:|\n"+want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := gangFiguresOf("default", nil, gangResult(t, func(r *workflow.Result) { r.Notes = []string{"3 have not ended"} })); err == nil {
		t.Error("pods that are left are not refused")
	}
	if _, err := gangFiguresOf("default", nil, gangResult(t, func(r *workflow.Result) { r.Workflows = nil })); err == nil {
		t.Error("a run without gangs is not refused")
	}
}

// A failed run has figures if only its gangs made it fail, since the benchmark measures gangs.
func TestGangFigures_FailedRun(t *testing.T) {
	red := errors.New("exit status 63")
	torn := workflow.TaskResult{ID: workflow.GangCheck, Error: "gang38 was torn for 5.6s"}
	for name, tc := range map[string]struct {
		tasks []workflow.TaskResult
		want  string // empty: an error
	}{
		"gangs alone":         {[]workflow.TaskResult{{ID: "burst"}, torn}, "\nThe run with default was red: gang38 was torn for 5.6s.\n"},
		"a task too":          {[]workflow.TaskResult{{ID: "burst", Error: "not submitted"}, torn}, ""},
		"nothing that is red": {[]workflow.TaskResult{{ID: "burst"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := gangFiguresOf("default", red, gangResult(t, func(r *workflow.Result) { r.Workflows[1].Tasks = tc.tasks }))
			if tc.want == "" {
				if err == nil {
					t.Error("it is not refused")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := gangTable([]gangFigures{f}); !strings.HasSuffix(got, tc.want) {
				t.Errorf("got\n%s", got)
			}
		})
	}
	if _, err := gangFiguresOf("default", red, nil); !errors.Is(err, red) {
		t.Errorf("a run without a result: got %v", err)
	}
}

// Each scheduler of the benchmark has its workflow, and all workflows fit together: 53 jobs, 49 of
// them of several pods.
func TestGangWorkflows(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
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
