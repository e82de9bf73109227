package report

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/report/testreport"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// FileName is the name of the results file, as AICR's own harness has it.
const FileName = "kwok-results.json"

// The format is CTRF; what is ours is in the extra objects, at formatVersion.
const (
	toolName      = "aicr-action matrix"
	formatVersion = 1
	setupPrefix   = "kwok/setup/"
	flaky         = result.Flaky
)

// ctrfExtra is this project's part of a report. Read refuses a file without it.
type ctrfExtra struct {
	// FormatVersion of the extra objects. It is raised when an old reader would misread a new file.
	FormatVersion int `json:"aicrActionFormat"`
	// Started is when the run did; CI what its job is.
	Started time.Time `json:"started,omitzero"`
	CI      CI        `json:"ci,omitzero"`
	Shards  []Shard   `json:"shards,omitempty"`
	Unread  []string  `json:"unread,omitempty"`
}

// cellExtra is the extra object of a cell: everything that is known about it, so that a file can be
// read back.
type cellExtra struct {
	result.Result
	ExitCode int `json:"exitCode,omitempty"`
	// Download is the command that gets the debug artifacts from CI.
	Download string `json:"download,omitempty"`
}

// Format gives, for programs that describe a results file, zero values of what is written: the file,
// and the extra object of a cell's test.
func Format() (file, cell any) { return testreport.CTRF[ctrfExtra]{}, cellExtra{} }

// WriteCTRF writes the results file. There is one test per cell, kwok/RECIPE/DEPLOYER, and one per
// deployer whose setup failed, kwok/setup/DEPLOYER.
func (r *Report) WriteCTRF(w io.Writer) error {
	out := r.newCTRF(toolName)
	out.Extra = &ctrfExtra{FormatVersion: formatVersion, Started: r.Started, CI: r.CI, Shards: r.Shards, Unread: r.Unread}
	res := &out.Results
	res.Environment = r.environment()
	for i := range r.Results {
		t, err := r.test(&r.Results[i])
		if err != nil {
			return err
		}
		res.Tests = append(res.Tests, t)
	}
	setups, err := r.setupTests()
	if err != nil {
		return err
	}
	res.Tests = append(res.Tests, setups...)
	return out.Write(w, r.began(), r.finished())
}

// newCTRF makes a results file without tests.
func (m *Meta) newCTRF(tool string) *testreport.CTRF[ctrfExtra] {
	out := testreport.NewCTRF[ctrfExtra](testreport.Tool{Name: tool, Version: m.Tool})
	out.RunID = m.RunID
	if !m.Written.IsZero() {
		t := m.Written.UTC()
		out.Timestamp = &t
	}
	return out
}

func (r *Report) environment() testreport.Environment {
	e := testreport.Environment{
		ReportName: "AICR recipes through their deployers on KWOK", BuildID: r.CI.RunID, BuildName: r.CI.Workflow, BuildNumber: r.CI.RunNumber, BuildURL: r.CI.URL,
		RepositoryName: r.CI.Repository, Commit: r.CI.Commit, BranchName: r.CI.Branch, OSPlatform: runtime.GOOS, ShardID: r.CI.Shard, Healthy: r.Green(),
	}
	if len(r.Results) > 0 {
		e.TestEnvironment = r.Results[0].Cluster
	}
	return e
}

func (r *Report) test(result *result.Result) (testreport.Test, error) {
	t := testreport.Test{
		Name: "kwok/" + result.Cell.String(), Status: ctrfStatus(result.Status), RawStatus: string(result.Status), Duration: result.Duration.Milliseconds(),
		Suite: []string{"kwok", result.Recipe}, Type: "integration", Tags: []string{result.Deployer}, Message: result.Cause, Trace: strings.Join(result.Details, "\n"),
	}
	if !result.Started.IsZero() {
		t.Start, t.Stop = testreport.Millis(result.Started), testreport.Millis(result.Started.Add(result.Duration))
	}
	for i, p := range result.Phases {
		status := "passed"
		if i == len(result.Phases)-1 { // the last step is the one at which a cell ended
			status = ctrfStatus(result.Status)
		}
		t.Steps = append(t.Steps, testreport.Step{Name: p.Name, Status: status, Extra: map[string]any{"durationMs": p.Duration.Milliseconds()}})
	}
	if place := placeOf(result); place.File != "" {
		t.FilePath, t.Line = place.File, place.Line
	}
	for i, a := range result.Attempts {
		t.Attempts = append(t.Attempts, testreport.Attempt{
			Attempt: i + 1, Status: ctrfStatus(a.Status()), Duration: a.Duration.Milliseconds(), Start: testreport.Millis(a.Started), Message: a.Cause + ": " + a.Crash,
		})
	}
	t.Retries = len(t.Attempts)
	t.Flaky = result.Known == flaky || t.Retries > 0 && t.Status == "passed"
	switch {
	case result.Upload != nil && webURL(result.Upload.URL) != "":
		t.Attachments = []testreport.Attachment{{Name: result.Upload.Artifact, ContentType: "text/html", Path: result.Upload.URL}}
	case result.Artifacts != "":
		t.Attachments = []testreport.Attachment{{Name: "evidence", ContentType: "inode/directory", Path: result.Artifacts}}
	}
	raw, err := json.Marshal(cellExtra{*result, r.code(result), result.Upload.Command()})
	if err != nil {
		return t, fmt.Errorf("write cell %s as JSON: %w", result.Cell, err)
	}
	t.Extra = raw
	return t, nil
}

// setupTests are upstream's kwok/setup/DEPLOYER entries: one per deployer with a cell for whose
// failure the machine, and not the recipe, is to blame.
func (r *Report) setupTests() ([]testreport.Test, error) {
	var order []string
	byDeployer := map[string]*testreport.Test{}
	cells := map[string][]string{}
	reasons := map[string]*result.Result{}
	for i := range r.Results {
		result := &r.Results[i]
		if !setupFailed(result) {
			continue
		}
		d := result.Deployer
		cells[d] = append(cells[d], result.Cell.String())
		if byDeployer[d] != nil {
			continue
		}
		order = append(order, d)
		reasons[d] = result
		byDeployer[d] = &testreport.Test{Name: setupPrefix + d, Status: "other", RawStatus: string(result.Status), Suite: []string{"kwok", "setup"}, Tags: []string{d}, Message: result.Cause}
	}
	var tests []testreport.Test
	for _, d := range order {
		raw, err := json.Marshal(map[string]any{"deployer": d, "reason": reasons[d].Reason, "exitCode": r.code(reasons[d]), "cells": cells[d]})
		if err != nil {
			return nil, err
		}
		byDeployer[d].Extra = raw
		tests = append(tests, *byDeployer[d])
	}
	return tests, nil
}

// setupFailed reports whether the machine failed during the cell, or before any cell could start.
// An interrupt, strikes and the job's deadline are no failed setup.
func setupFailed(res *result.Result) bool {
	switch res.Reason {
	case reason.Interrupted, reason.SyncTimeout, reason.JobDeadline:
		return false
	}
	return res.Status == result.Infrastructure || res.Status == result.NotRun
}
