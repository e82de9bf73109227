package cli

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// EventLog writes a JSON object per line and event: --progress json. Like `go test -json`, it has
// stdout to itself; people read stderr.
type EventLog struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error // the first one of the writer
}

// NewEventLog writes events to w.
func NewEventLog(w io.Writer) *EventLog { return &EventLog{enc: json.NewEncoder(inertJSON{w})} }

// eventLine is one line; docs/results.md has its fields.
type eventLine struct {
	Time       time.Time      `json:"time"`
	Event      string         `json:"event"`
	Run        string         `json:"run,omitempty"`
	Recipe     string         `json:"recipe,omitempty"`
	Deployer   string         `json:"deployer,omitempty"`
	From       string         `json:"from,omitempty"`
	Sequence   string         `json:"sequence,omitempty"`
	Step       string         `json:"step,omitempty"`
	Title      string         `json:"title,omitempty"`
	DurationMs *int64         `json:"durationMs,omitempty"`
	Error      string         `json:"error,omitempty"`
	Status     result.Status  `json:"status,omitempty"`
	Reason     reason.Reason  `json:"reason,omitempty"`
	ExitCode   *int           `json:"exitCode,omitempty"`
	Cause      string         `json:"cause,omitempty"`
	Pods       int            `json:"pods,omitempty"`
	Artifacts  string         `json:"artifacts,omitempty"`
	Cells      int            `json:"cells,omitempty"`
	Totals     map[string]int `json:"totals,omitempty"`
}

func (l *EventLog) write(e eventLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	if err := l.enc.Encode(e); err != nil && l.err == nil {
		l.err = err
	}
}

// Begin writes the first line. Cells is the number of cells of the run.
func (l *EventLog) Begin(run string, cells int) {
	l.write(eventLine{Event: "run-begin", Run: run, Cells: cells})
}

// Tell is a Runner's OnEvent.
func (l *EventLog) Tell(e matrix.Event) {
	line := eventLine{Time: e.Time, Event: string(e.Kind), Recipe: e.Cell.Recipe, Deployer: e.Cell.Deployer, From: e.Cell.From, Sequence: e.Cell.Sequence, Step: e.Step, Title: e.Title}
	took := e.Duration
	if e.Err != nil {
		line.Error = e.Err.Error()
	}
	if r := e.Result; r != nil {
		took = r.Duration
		line.Status, line.Reason, line.Cause, line.Pods, line.Artifacts = r.Status, r.Reason, r.Cause, r.Pods, r.Artifacts
		if code := CodeInReport(r.Reason); code != 0 {
			line.ExitCode = &code
		}
	}
	if e.Kind != matrix.StepBegin {
		ms := took.Milliseconds()
		line.DurationMs = &ms
	}
	l.write(line)
}

// End writes the last line and returns the first error of the writer.
func (l *EventLog) End(results []result.Result, code int) error {
	t := report.Count(results)
	l.write(eventLine{Event: "run-end", Cells: t.Cells, ExitCode: &code, Totals: map[string]int{
		"passed": t.Passed, "reused": t.Reused, "failed": t.Failed, "timeout": t.Timeout, "infrastructure": t.Infrastructure, "interrupted": t.Interrupted, "skipped": t.Skipped, "notRun": t.NotRun,
	}})
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
