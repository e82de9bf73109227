package matrix

import (
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
)

// turn is the moment at which a cell's time starts: at once or, for a cell that was started ahead,
// when a worker takes it. Earlier steps are not shown as steps of the run, and their time is not
// the cell's.
type turn struct {
	came chan struct{} // closed when it has come

	mu sync.Mutex
	at time.Time // zero before
	// ahead shows that the cell was started ahead; nil if it was not, or once that is over.
	ahead infra.Task
	// announce shows the step that runs; nil between steps. task is what it returned.
	announce func() infra.Task
	task     infra.Task
}

// newTurn returns a turn that has not come. The task, if any, ends when it comes, or with finish.
func newTurn(ahead infra.Task) *turn { return &turn{came: make(chan struct{}), ahead: ahead} }

// come starts the cell's time. A running step is announced now.
func (t *turn) come(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = at
	t.endAhead("its turn has come", nil)
	if t.announce != nil {
		t.task = t.announce()
	}
	close(t.came)
}

// finish ends the work that is done ahead, with its error.
func (t *turn) finish(detail string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endAhead(detail, err)
}

func (t *turn) endAhead(detail string, err error) {
	if t.ahead != nil {
		t.ahead.End(detail, err)
		t.ahead = nil
	}
}

// begin records the start of a step, and announces it if the turn has come.
func (t *turn) begin(announce func() infra.Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.announce = announce
	if !t.at.IsZero() {
		t.task = announce()
	}
}

// end records the end of the step that lasted between these times. It returns the step's task, nil
// if it was not announced, and how much of the step was before the turn.
func (t *turn) end(from, to time.Time) (task infra.Task, ahead time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	task = t.task
	t.announce, t.task = nil, nil
	switch {
	case t.at.IsZero():
		return task, to.Sub(from)
	case t.at.After(from):
		return task, min(t.at.Sub(from), to.Sub(from))
	}
	return task, 0
}

// tell changes the detail of the running step, if it is shown.
func (t *turn) tell(detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.task != nil {
		t.task.Update(detail)
	}
}
