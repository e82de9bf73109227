package workflow

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/workflow/placement"
)

type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string           `xml:"name,attr"`
		File       string           `xml:"file,attr"`
		Tests      int              `xml:"tests,attr"`
		Failures   int              `xml:"failures,attr"`
		Skipped    int              `xml:"skipped,attr"`
		Time       string           `xml:"time,attr"`
		Timestamp  string           `xml:"timestamp,attr,omitempty"`
		Properties *junitProperties `xml:"properties"`
		Cases      []junitCase      `xml:"testcase"`
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Skipped *junitProblem `xml:"skipped"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
	}
)

// WriteJUnit writes JUnit XML: a suite for each workflow, with its placement as properties, and a test for each task.
func (r *Result) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "workflows"}
	for _, flow := range r.Workflows {
		s := junitSuite{Name: "workflow/" + xmlText(flow.Name), File: xmlText(flow.File), Time: seconds(flow.Duration)}
		if !flow.Started.IsZero() {
			s.Timestamp = flow.Started.UTC().Format("2006-01-02T15:04:05")
		}
		for _, p := range properties(flow.Placement) {
			if s.Properties == nil {
				s.Properties = &junitProperties{}
			}
			s.Properties.List = append(s.Properties.List, p)
		}
		for _, t := range flow.Tasks {
			c := junitCase{Name: xmlText(t.ID + " (" + t.Type + ")"), Class: "workflow." + xmlText(flow.Name), Time: seconds(t.Duration)}
			s.Tests++
			switch t.Status {
			case StatusFailed:
				s.Failures++
				c.Failure = &junitProblem{Type: string(t.Reason), Message: xmlText(t.Error)}
			case StatusNotRun:
				s.Skipped++
				c.Skipped = &junitProblem{Message: "a task before it failed"}
			}
			s.Cases = append(s.Cases, c)
		}
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// properties are what JUnit has of a placement: its numbers.
func properties(p *placement.Result) []junitProperty {
	if p == nil {
		return nil
	}
	property := func(name string, value any) junitProperty {
		return junitProperty{"placement." + name, fmt.Sprint(value)}
	}
	return []junitProperty{
		property("pods", p.Pods), property("placed", p.Placed), property("timeToSchedule.medianMs", p.TimeToSchedule.Median),
		property("timeToSchedule.maxMs", p.TimeToSchedule.Max), property("podsPerSecond", p.TimeToSchedule.PerSecond),
		property("occupancy.meanPercent", p.MeanOccupancy), property("occupancy.peakPercent", p.PeakOccupancy), property("fragmentedGPUs", p.Fragmentation),
		property("gangs.whole", p.Gangs.Whole), property("gangs.half", p.Gangs.Half), property("gangs.none", p.Gangs.None),
	}
}

// xmlText leaves out what XML cannot have.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// WriteCTRF writes the Common Test Report Format (https://ctrf.io), with each workflow's placement in the extra object of its last test.
func (r *Result) WriteCTRF(w io.Writer) error {
	type test struct {
		Name     string         `json:"name"`
		Suite    []string       `json:"suite"`
		Status   string         `json:"status"`
		Duration int64          `json:"duration"`
		Message  string         `json:"message,omitempty"`
		FilePath string         `json:"filePath"`
		Line     int            `json:"line"`
		Extra    map[string]any `json:"extra,omitempty"`
	}
	tests := []test{}
	count := map[string]int{}
	for _, flow := range r.Workflows {
		for i, t := range flow.Tasks {
			one := test{Name: t.ID + " (" + t.Type + ")", Suite: []string{flow.Name}, Status: t.Status, Duration: t.Duration.Milliseconds(), Message: t.Error, FilePath: flow.File, Line: t.Line}
			if t.Status == StatusNotRun {
				one.Status = "skipped"
			}
			if i == len(flow.Tasks)-1 && flow.Placement != nil {
				one.Extra = map[string]any{"placement": flow.Placement}
			}
			count[one.Status]++
			tests = append(tests, one)
		}
	}
	var start, stop int64
	for _, flow := range r.Workflows {
		if flow.Started.IsZero() {
			continue
		}
		if start == 0 {
			start = flow.Started.UnixMilli()
		}
		stop = flow.Started.Add(flow.Duration).UnixMilli()
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{
		"reportFormat": "CTRF", "specVersion": "0.0.0",
		"results": map[string]any{
			"tool": map[string]any{"name": "aicr-action matrix workflow"},
			"summary": map[string]any{
				"tests": len(tests), "passed": count[StatusPassed], "failed": count[StatusFailed], "skipped": count["skipped"], "pending": 0, "other": 0, "start": start, "stop": stop,
			},
			"tests": tests,
		},
	})
}

// WriteHTML writes the result as one page, with a picture of the nodes over time.
func (r *Result) WriteHTML(w io.Writer) error {
	page := placement.Page{Title: "Workflows on " + r.Cluster, Passed: r.Passed}
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
