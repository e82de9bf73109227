package gate

import (
	"errors"
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	// slowMachine is how many times slower than at its best a machine must have been for a missed
	// deadline to be its fault. A cell's budget is some eight times what the cell takes on two free
	// cores. Six cells side by side on two cores make them five times slower.
	slowMachine = 10
	// stretchFrom is how many times slower it must be for the gate to wait longer before it
	// believes what it sees. Cells side by side stay below.
	stretchFrom = 6
)

// slowness returns how slow the machine was since a time; 1 if it is not measured.
func (g *Gate) slowness(since time.Time) float64 {
	if g.Slowness == nil {
		return 1
	}
	return max(1, g.Slowness(since))
}

// stretched returns how long a condition must last on a machine that has been as slow as this one
// since then: a moment lasts longer there as well.
func (g *Gate) stretched(d time.Duration, since time.Time) time.Duration {
	if slow := g.slowness(since); slow >= stretchFrom {
		return time.Duration(float64(d) * slow)
	}
	return d
}

// blameMachine turns a verdict that only says that time ran out into MACHINE_TOO_SLOW if the
// machine was far from its usual speed meanwhile. A pod that the scheduler or the API server
// rejects, or that is on a wrong node, is not a matter of time.
func (g *Gate) blameMachine(err error, started time.Time) error {
	r := reason.Of(err)
	slow := g.slowness(started)
	if slow < slowMachine || r != reason.SchedulingFailed && r != reason.WorkloadFailed && r != g.lane.TimeoutReason() {
		return err
	}
	if r := &g.lastReport; len(r.Pending)+len(r.Wrong)+len(r.Refused) > 0 {
		return err
	}
	cause := fmt.Sprintf("this machine was %.0f times slower than at its best in this run, so that the time says nothing about the recipe: ", slow)
	var f *result.Failure
	if !errors.As(err, &f) || len(f.Findings) == 0 {
		return &reason.Error{Reason: reason.MachineTooSlow, Err: fmt.Errorf("%s%w", cause, err)}
	}
	f.Findings[0].Cause = cause + f.Findings[0].Cause
	return &reason.Error{Reason: reason.MachineTooSlow, Err: f}
}
