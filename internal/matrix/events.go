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

// Event is one moment of a run. Hooks.OnEvent gets events from several goroutines.
type Event struct {
	Kind EventKind
	Time time.Time
	Cell result.Cell
	// Step is the phase's name in Result.Phases, Title its name for people. Both belong to
	// StepBegin and StepEnd.
	Step, Title string
	// Duration and Err belong to StepEnd. Err is nil if the step succeeded.
	Duration time.Duration
	Err      error
	// Result belongs to CellEnd.
	Result *result.Result
}

func (h Hooks) emit(e Event) {
	if h.OnEvent != nil {
		e.Time = time.Now().UTC()
		h.OnEvent(e)
	}
}
