package matrix

import (
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// EventKind says what an Event is about.
type EventKind string

// The kinds of events.
const (
	StepBegin EventKind = "step-begin"
	StepEnd   EventKind = "step-end"
	CellEnd   EventKind = "cell-end"
)

// Event is a moment in a run, for programs that watch it. Runner.OnEvent gets them from several
// goroutines.
type Event struct {
	Kind EventKind
	Time time.Time
	Cell result.Cell
	// Step is the phase as Result.Phases names it, Title what a person reads. For StepBegin and
	// StepEnd.
	Step, Title string
	// Duration and Err are StepEnd's; Err is nil if the step did what it should.
	Duration time.Duration
	Err      error
	// Result is CellEnd's.
	Result *result.Result
}

func (h Hooks) emit(e Event) {
	if h.OnEvent != nil {
		e.Time = time.Now().UTC()
		h.OnEvent(e)
	}
}
