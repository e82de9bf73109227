// Package testreport has the two formats in which every command writes test results for other
// programs: the Common Test Report Format and JUnit XML. It knows their structures and how they are
// written. It must not know what a test is about.
package testreport

import (
	"encoding/json"
	"io"
	"time"
)

// specVersion is the version of CTRF (https://ctrf.io) that is written.
const specVersion = "0.0.0"

// CTRF is a report in the Common Test Report Format; Extra is the writer's own part of it.
type CTRF[Extra any] struct {
	ReportFormat string     `json:"reportFormat"`
	SpecVersion  string     `json:"specVersion"`
	RunID        string     `json:"runId,omitempty"`
	Timestamp    *time.Time `json:"timestamp,omitempty"`
	GeneratedBy  string     `json:"generatedBy,omitempty"`
	Results      Results    `json:"results"`
	Extra        *Extra     `json:"extra,omitempty"`
}

// Results are the tests of a CTRF report, and what ran them where.
type Results struct {
	Tool        Tool        `json:"tool"`
	Summary     Summary     `json:"summary"`
	Tests       []Test      `json:"tests"`
	Environment Environment `json:"environment"`
}

// Tool is the program that ran the tests.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Summary counts tests; times are in milliseconds, Start and Stop since 1970.
type Summary struct {
	Tests    int   `json:"tests"`
	Passed   int   `json:"passed"`
	Failed   int   `json:"failed"`
	Skipped  int   `json:"skipped"`
	Pending  int   `json:"pending"`
	Other    int   `json:"other"`
	Start    int64 `json:"start"`
	Stop     int64 `json:"stop"`
	Duration int64 `json:"duration"`
}

// Test is one test; times are in milliseconds, Start and Stop since 1970.
type Test struct {
	Name        string          `json:"name"`
	Status      string          `json:"status"` // passed, failed, skipped, pending or other
	RawStatus   string          `json:"rawStatus,omitempty"`
	Duration    int64           `json:"duration"`
	Start       int64           `json:"start,omitempty"`
	Stop        int64           `json:"stop,omitempty"`
	Suite       []string        `json:"suite,omitempty"`
	FilePath    string          `json:"filePath,omitempty"`
	Line        int             `json:"line,omitempty"`
	Retries     int             `json:"retries,omitempty"`
	Attempts    []Attempt       `json:"retryAttempts,omitempty"`
	Flaky       bool            `json:"flaky,omitempty"`
	Message     string          `json:"message,omitempty"`
	Trace       string          `json:"trace,omitempty"`
	Type        string          `json:"type,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Steps       []Step          `json:"steps,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	Extra       json.RawMessage `json:"extra,omitempty"`
}

// Attempt is an attempt before the last one.
type Attempt struct {
	Attempt  int    `json:"attempt"` // from 1
	Status   string `json:"status"`
	Duration int64  `json:"duration"`
	Start    int64  `json:"start,omitempty"`
	Message  string `json:"message,omitempty"`
}

// Step is a step of a test.
type Step struct {
	Name   string         `json:"name"`
	Status string         `json:"status"`
	Extra  map[string]any `json:"extra,omitempty"`
}

// Attachment is a file of a test.
type Attachment struct {
	Name        string `json:"name"`
	ContentType string `json:"contentType"`
	Path        string `json:"path"`
}

// Environment is where the tests ran.
type Environment struct {
	ReportName      string `json:"reportName,omitempty"`
	BuildID         string `json:"buildId,omitempty"`
	BuildName       string `json:"buildName,omitempty"`
	BuildNumber     int    `json:"buildNumber,omitempty"`
	BuildURL        string `json:"buildUrl,omitempty"`
	RepositoryName  string `json:"repositoryName,omitempty"`
	Commit          string `json:"commit,omitempty"`
	BranchName      string `json:"branchName,omitempty"`
	OSPlatform      string `json:"osPlatform,omitempty"`
	TestEnvironment string `json:"testEnvironment,omitempty"`
	ShardID         string `json:"shardId,omitempty"`
	Healthy         bool   `json:"healthy"`
}

// NewCTRF makes a report of a tool, without tests.
func NewCTRF[Extra any](tool Tool) *CTRF[Extra] {
	return &CTRF[Extra]{ReportFormat: "CTRF", SpecVersion: specVersion, GeneratedBy: tool.Name, Results: Results{Tool: tool, Tests: []Test{}}}
}

// Write counts the tests, which took from start to stop, and writes the report.
func (c *CTRF[Extra]) Write(w io.Writer, start, stop time.Time) error {
	if stop.Before(start) {
		stop = start
	}
	sum := summarize(c.Results.Tests)
	sum.Start, sum.Stop, sum.Duration = Millis(start), Millis(stop), Millis(stop)-Millis(start)
	c.Results.Summary = sum
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(c)
}

func summarize(tests []Test) Summary {
	s := Summary{Tests: len(tests)}
	for i := range tests {
		switch tests[i].Status {
		case "passed":
			s.Passed++
		case "failed":
			s.Failed++
		case "skipped":
			s.Skipped++
		default:
			s.Other++
		}
	}
	return s
}

// Millis is a time in milliseconds since 1970; 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
