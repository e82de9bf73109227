package workflow

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/report/testreport"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func sample() *Result {
	return &Result{Cluster: "c", Workflows: []WorkflowResult{{
		File: "w.yaml", Name: "w", Status: result.StepFailed, Started: time.Unix(1000, 0), Duration: 2 * time.Second,
		Tasks: []TaskResult{
			{ID: "a", Type: Sleep, Status: result.StepPassed, Duration: time.Second},
			{ID: "b", Type: checkPod, Line: 7, Status: result.StepFailed, Error: "no \x01 <pods>", Reason: reason.WorkflowFailed},
			{ID: "c", Type: pause, Status: result.StepNotRun},
		},
		Placement: &placement.Result{Pods: 4, Placed: 3, MeanOccupancy: 12.5, Jobs: []placement.Job{}},
	}}}
}

// TestStatusWords holds the statuses in the JSON of a run.
func TestStatusWords(t *testing.T) {
	data, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name":"w","status":"failed"`, `"line":0,"status":"passed"`, `"line":7,"status":"failed"`, `"line":0,"status":"not run"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("want %s in %s", want, data)
		}
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got testreport.JUnit
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if got.Tests != 3 || got.Failures != 1 || got.Skipped != 1 || got.Suites[0].Cases[1].Failure.Message != "no \uFFFD <pods>" || got.Suites[0].Cases[1].Failure.Type != "WORKFLOW_FAILED" {
		t.Errorf("got\n%s", b.String())
	}
	if !strings.Contains(b.String(), `<property name="placement.occupancy.meanPercent" value="12.5">`) {
		t.Errorf("no placement in\n%s", b.String())
	}
}

func TestCTRF(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteCTRF(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Extra struct {
			GpuOccupancy []struct{ MeanPercent float64 }
		}
		Results struct {
			Summary map[string]int
			Tests   []struct {
				Name, Status string
				Extra        struct{ Placement *placement.Result }
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	s, tests := got.Results.Summary, got.Results.Tests
	if s["tests"] != 3 || s["passed"] != 1 || s["failed"] != 1 || s["skipped"] != 1 || s["start"] != 1000000 || s["stop"] != 1002000 || len(got.Extra.GpuOccupancy) != 1 || got.Extra.GpuOccupancy[0].MeanPercent != 12.5 || tests[1].Status != "failed" || tests[2].Extra.Placement.Placed != 3 {
		t.Errorf("got\n%s", b.String())
	}
}

func TestHTML(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"w.yaml:7: task b (CheckPod): no", "&lt;pods&gt;", "3 of 4 pods placed", "Workflows on c"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}
