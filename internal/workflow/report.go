package workflow

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/report/testreport"
	"github.com/nvidia/aicr-action/internal/result"
)

// toolName is this program's name in reports.
const toolName = "aicr-action matrix workflow"

// WriteJUnit writes JUnit XML: a suite for each workflow, with its placement as properties, and a
// test for each task.
func (r *Result) WriteJUnit(w io.Writer) error {
	all := testreport.JUnit{Name: "workflows"}
	var total time.Duration
	for _, flow := range r.Workflows {
		s := testreport.Suite{Name: "workflow/" + flow.Name, File: flow.File, Time: testreport.Seconds(flow.Duration), Timestamp: testreport.Timestamp(flow.Started)}
		if list := properties(flow.Placement); len(list) > 0 {
			s.Properties = &testreport.Properties{List: list}
		}
		for _, t := range flow.Tasks {
			c := testreport.Case{Name: t.ID + " (" + t.Type + ")", Class: "workflow." + flow.Name, File: flow.File, Line: t.Line, Time: testreport.Seconds(t.Duration)}
			switch t.Status {
			case result.StepFailed:
				c.Failure = &testreport.Problem{Type: string(t.Reason), Message: t.Error}
			case result.StepNotRun:
				c.Skipped = &testreport.Problem{Message: notRun}
			}
			s.Add(c)
		}
		total += flow.Duration
		all.Add(s)
	}
	all.Time = testreport.Seconds(total)
	return all.Write(w)
}

// notRun is why a task was not run.
const notRun = "a task before it failed"

// properties returns the numbers of a placement for JUnit.
func properties(p *placement.Result) []testreport.Property {
	if p == nil {
		return nil
	}
	property := func(name string, value any) testreport.Property {
		return testreport.Property{Name: "placement." + name, Value: fmt.Sprint(value)}
	}
	return []testreport.Property{
		property("pods", p.Pods), property("placed", p.Placed), property("timeToSchedule.medianMs", p.TimeToSchedule.Median),
		property("timeToSchedule.maxMs", p.TimeToSchedule.Max), property("podsPerSecond", p.TimeToSchedule.PerSecond),
		property("occupancy.meanPercent", p.MeanOccupancy), property("occupancy.peakPercent", p.PeakOccupancy), property("fragmentedGPUs", p.Fragmentation),
		property("gangs.whole", p.Gangs.Whole), property("gangs.half", p.Gangs.Half), property("gangs.none", p.Gangs.None),
	}
}

// ctrfExtra is about the whole run.
type ctrfExtra struct {
	// Occupancy is that of each workflow that ran.
	Occupancy []occupancy `json:"gpuOccupancy,omitempty"`
	Notes     []string    `json:"notes,omitempty"`
}

// occupancy is how many GPUs of a cluster were taken during a workflow, in percent.
type occupancy struct {
	Workflow string  `json:"workflow"`
	Mean     float64 `json:"meanPercent"`
	Peak     float64 `json:"peakPercent"`
	// Fragmented is the most GPUs that were free and fitted no pod that waited.
	Fragmented int `json:"fragmentedGPUs"`
}

// WriteCTRF writes the Common Test Report Format: a test for each task, the GPU occupancy of each
// workflow in the extra object, and each workflow's placement in the extra object of its last test.
func (r *Result) WriteCTRF(w io.Writer) error {
	out := testreport.NewCTRF[ctrfExtra](testreport.Tool{Name: toolName})
	out.Extra = &ctrfExtra{Notes: r.Notes}
	out.Results.Environment = testreport.Environment{ReportName: "Workflows on virtual nodes", TestEnvironment: r.Cluster, Healthy: r.Passed}
	var start, stop time.Time
	for _, flow := range r.Workflows {
		if p := flow.Placement; p != nil {
			out.Extra.Occupancy = append(out.Extra.Occupancy, occupancy{flow.Name, p.MeanOccupancy, p.PeakOccupancy, p.Fragmentation})
		}
		for i, t := range flow.Tasks {
			one := testreport.Test{Name: t.ID + " (" + t.Type + ")", Suite: []string{flow.Name}, Status: string(t.Status), Duration: t.Duration.Milliseconds(), Message: t.Error, FilePath: flow.File, Line: t.Line}
			if t.Status == result.StepNotRun {
				one.Status, one.RawStatus, one.Message = "skipped", string(t.Status), notRun
			}
			if i == len(flow.Tasks)-1 && flow.Placement != nil {
				raw, err := json.Marshal(map[string]any{"placement": flow.Placement})
				if err != nil {
					return fmt.Errorf("write the placement of %s as JSON: %w", flow.Name, err)
				}
				one.Extra = raw
			}
			out.Results.Tests = append(out.Results.Tests, one)
		}
		if flow.Started.IsZero() {
			continue
		}
		if start.IsZero() {
			start = flow.Started
		}
		stop = flow.Started.Add(flow.Duration)
	}
	return out.Write(w, start, stop)
}

// WriteHTML writes the result as one page, with a picture of the nodes over time.
func (r *Result) WriteHTML(w io.Writer) error {
	page := placement.Page{Title: "Workflows on " + r.Cluster, Passed: r.Passed}
	if r.Chaos != nil {
		page.Chaos = append(page.Chaos, []string{fmt.Sprintf("%s, seed %d", r.Chaos.File, r.Chaos.Seed)})
		for i := range r.Chaos.Steps {
			page.Chaos = append(page.Chaos, report.ChaosLines(&r.Chaos.Steps[i]))
		}
	}
	for _, flow := range r.Workflows {
		one := placement.PageWorkflow{Name: flow.Name, File: flow.File, Status: flow.Status, Took: flow.Duration, Placement: flow.Placement}
		for _, t := range flow.Tasks {
			one.Tasks = append(one.Tasks, placement.PageTask{ID: t.ID, Type: t.Type, Status: t.Status, Took: t.Duration})
			if t.Error != "" {
				one.Error = fmt.Sprintf("%s:%d: task %s (%s): %s", flow.File, t.Line, t.ID, t.Type, t.Error)
			}
		}
		page.Workflows = append(page.Workflows, one)
	}
	return placement.WriteHTML(w, page)
}
