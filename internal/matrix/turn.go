package matrix

import (
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
)

// turn is the moment at which a cell's time begins: at once, or for a cell that was begun ahead
// when a worker takes it. What the cell does before that is no step of the run that a person sees,
// and is not counted as the cell's time.
type turn struct {
	came chan struct{} // closed when it has come

	mu sync.Mutex
	at time.Time // zero before
	// ahead shows on the progress that the cell was begun ahead; nil if it was not, or once that is
	// over.
	ahead infra.Task
	// announce shows the step that runs; nil between steps. task is what it returned.
	announce func() infra.Task
	task     infra.Task
}

// newTurn has not come yet. The task, if any, is ended when it does, or with finish.
func newTurn(ahead infra.Task) *turn { return &turn{came: make(chan struct{}), ahead: ahead} }

// come begins the cell's time. A step that runs is announced now.
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

// finish says that what can be done ahead is done, or how it failed.
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

// begin notes that a step begins, and announces it if the turn has come.
func (t *turn) begin(announce func() infra.Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.announce = announce
	if !t.at.IsZero() {
		t.task = announce()
	}
}

// end notes that the step has ended that lasted from one time to the other. It gives its task, nil
// if it was not announced, and how much of it was before the turn.
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

// tell changes the detail of the step that runs, if it is shown.
func (t *turn) tell(detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.task != nil {
		t.task.Update(detail)
	}
}
