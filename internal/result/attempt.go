package result

import (
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Attempt is a run of a cell that said nothing about the recipe, since a program of the stack
// crashed, so that the cell was run again.
type Attempt struct {
	Started   time.Time     `json:"started"`
	Duration  time.Duration `json:"durationNs"`
	Reason    reason.Reason `json:"reason"`
	Component string        `json:"component"`
	Cause     string        `json:"cause"`
	// Crash is the line with which the program ended, e.g. of a Go panic.
	Crash string `json:"crash"`
	// Artifacts is the directory of its debug artifacts, if any.
	Artifacts string `json:"artifacts,omitempty"`
}

// Status is how the attempt ended.
func (a Attempt) Status() Status { return StatusOf(a.Reason) }

// String is the warning of the cell that was run again.
func (a Attempt) String() string {
	text := fmt.Sprintf("run again from scratch, since %s crashed after %.1f s of the first attempt: %s", a.Component, a.Duration.Seconds(), a.Crash)
	if a.Artifacts != "" {
		text += "; its debug artifacts are " + a.Artifacts
	}
	return text
}
