package workflow

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A job that held some of its nodes for too long fails the workflow that submitted it, also in the
// reports. One pod is no gang.
func TestHalfPlacedAtMost(t *testing.T) {
	for name, c := range map[string]struct {
		limit time.Duration
		half  int64
		want  string
	}{
		"longer":   {5 * time.Second, 5001, "b.yaml:2: halfPlacedAtMost 5s: 1 jobs of burst held nodes for some of their pods while others waited: gangs/torn for 5s (2 of 3 pods have a node)"},
		"as long":  {5 * time.Second, 5000, ""},
		"no limit": {0, 60000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan := &Plan{Workflows: []*Workflow{{Name: "config", File: "b.yaml", HalfPlacedAtMost: Duration(c.limit), halfPlacedLine: 2}, {Name: "burst"}}}
			r := &Result{Workflows: []WorkflowResult{{Name: "config", Status: result.StepPassed, Placement: &placement.Result{}}, {Name: "burst", Status: result.StepPassed, Placement: &placement.Result{
				Gangs: placement.Gang{Jobs: 2}, Jobs: []placement.Job{
					{Name: "single", Wanted: 1, HalfPlaced: 60000}, {Name: "whole", Namespace: "gangs", Wanted: 3, Placed: 3, HalfPlaced: 10},
					{Name: "torn", Namespace: "gangs", Wanted: 3, Placed: 2, HalfPlaced: c.half},
				},
			}}}}
			err := checkGangs(plan, r)
			var junit bytes.Buffer
			if err := r.WriteJUnit(&junit); err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if err != nil || r.Workflows[1].Status != result.StepPassed || strings.Contains(junit.String(), "<failure") {
					t.Errorf("got %v, %+v\n%s", err, r.Workflows[1], junit.String())
				}
				return
			}
			if reason.Of(err) != reason.WorkflowFailed || err.Error() != c.want || r.Workflows[1].Status != result.StepFailed || r.Workflows[0].Status != result.StepPassed {
				t.Errorf("got %v, %+v", err, r.Workflows)
			}
			if !strings.Contains(junit.String(), "<failure") {
				t.Errorf("the report is green:\n%s", junit.String())
			}
		})
	}
}
