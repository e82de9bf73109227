package workflow

import (
	"fmt"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// GangCheck is the ID of the task in results that has the outcome of halfPlacedAtMost.
const GangCheck = "halfPlacedAtMost"

// checkGangs compares the jobs with halfPlacedAtMost, and adds the outcome to the tasks of each
// workflow that submitted gangs, since reports consist of tasks. The field applies to every job of
// the run: one file configures a scheduler, and the next submits.
func checkGangs(plan *Plan, r *Result) error {
	var first error
	for _, limit := range plan.Workflows {
		if limit.HalfPlacedAtMost == 0 {
			continue
		}
		for i := range r.Workflows {
			one := &r.Workflows[i]
			if one.Placement == nil || one.Placement.Gangs.Jobs == 0 {
				continue
			}
			check := TaskResult{ID: GangCheck, Type: "Check", Line: limit.halfPlacedLine, Status: result.StepPassed, Detail: fmt.Sprintf("%d jobs", one.Placement.Gangs.Jobs)}
			if torn := tornGangs(one.Placement.Jobs, time.Duration(limit.HalfPlacedAtMost)); len(torn) > 0 {
				err := reason.New(reason.WorkflowFailed, "%s:%d: halfPlacedAtMost %s: %d jobs of %s held nodes for some of their pods while others waited: %s",
					limit.File, limit.halfPlacedLine, time.Duration(limit.HalfPlacedAtMost), len(torn), one.Name, strings.Join(lists.AtMost(torn, named), "; "))
				check.Status, check.Detail, check.Error, check.Reason = result.StepFailed, "", err.Error(), reason.WorkflowFailed
				one.Status = result.StepFailed
				if first == nil {
					first = err
				}
			}
			one.Tasks = append(one.Tasks, check)
		}
	}
	return first
}

// tornGangs describes the jobs of several pods that were half placed for longer.
func tornGangs(jobs []placement.Job, most time.Duration) []string {
	var torn []string
	for _, j := range jobs {
		if half := time.Duration(j.HalfPlaced) * time.Millisecond; j.Wanted > 1 && half > most {
			torn = append(torn, fmt.Sprintf("%s/%s for %s (%d of %d pods have a node)", j.Namespace, j.Name, half.Round(100*time.Millisecond), j.Placed, j.Wanted))
		}
	}
	return torn
}
