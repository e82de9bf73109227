package matrix

import (
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/reason"
)

// EventKind says what an Event is about.
type EventKind string

// The kinds of events.
const (
	StepBegin EventKind = "step-begin"
	StepEnd   EventKind = "step-end"
	CellEnd   EventKind = "cell-end"
)

// Event is a moment in a run, for programs that watch it. Runner.OnEvent gets them from several goroutines.
type Event struct {
	Kind EventKind
	Time time.Time
	Cell Cell
	// Step is the phase as Result.Phases names it, Title what a person reads. For StepBegin and StepEnd.
	Step, Title string
	// Duration and Err are StepEnd's; Err is nil if the step did what it should.
	Duration time.Duration
	Err      error
	// Result is CellEnd's.
	Result *Result
}

func (r *Runner) emit(e Event) {
	if r.OnEvent != nil {
		e.Time = time.Now().UTC()
		r.OnEvent(e)
	}
}

// recorder fills results with cells that have not run, so that a list which is written early cannot be taken for a whole one, and
// returns the function that enters a cell's own result and tells OnEvent and OnResult.
func (r *Runner) recorder(plans []Plan, results []Result) func(int, Result) {
	var mu sync.Mutex
	for i, p := range plans {
		results[i] = r.NotRun(p.Cell, Verdict{Status: NotRun, Reason: reason.Interrupted, Cause: "the cell had not ended when this was written"})
	}
	return func(i int, result Result) {
		mu.Lock()
		defer mu.Unlock()
		results[i] = result
		r.emit(Event{Kind: CellEnd, Cell: result.Cell, Result: &result})
		if r.OnResult != nil {
			r.OnResult(append([]Result(nil), results...))
		}
	}
}
