package matrix

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// begun is a cell that was begun before its turn. Both methods may be called from several
// goroutines.
type startedCell interface {
	// take gives the cell its turn, and runs it to its end. What cannot be used of what was begun
	// is started again from scratch, once.
	take(ctx context.Context) finishedCell
	// drop removes what was begun, and returns when nothing of it is left; the error says what is.
	// A cell that was taken is not touched.
	drop() error
}

// aheadCell is a cell whose cluster and controllers were started before its turn, by the same steps
// as any other's. It has no result until it is taken: whatever goes wrong before that is not the
// cell's.
type aheadCell struct {
	runner *Runner
	cell   *cellRun
	end    context.CancelCauseFunc
	done   chan struct{}
	err    error // what the cell came to; valid once done is closed

	mu             sync.Mutex
	taken, dropped bool
}

var errDropped = errors.New("the cluster that was started ahead is not needed")

// startAhead begins a cell, which stops before its first own step until it is taken.
func (r *Runner) startAhead(ctx context.Context, p Plan) startedCell {
	c := r.newCell(p, NewLane(p.Deployer))
	c.startedAhead, c.turn = true, newTurn(r.Progress.Begin(p.Cell.String()+"  Starting its cluster ahead"))
	ctx, cancel := context.WithCancelCause(ctx)
	a := &aheadCell{runner: r, cell: c, end: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		defer cancel(nil)
		a.err = c.run(ctx)
		if errors.Is(a.err, errDropped) {
			c.turn.finish("not needed", nil)
		} else {
			c.turn.finish("", a.err)
		}
	}()
	return a
}

func (a *aheadCell) take(ctx context.Context) finishedCell {
	at := time.Now()
	a.mu.Lock()
	if a.taken = !a.dropped; a.taken {
		a.cell.turn.come(at)
	}
	a.mu.Unlock()
	<-a.done
	if !a.cell.startedAhead {
		return a.cell.finish(a.err)
	}
	c := a.runner.newCell(a.cell.plan, NewLane(a.cell.plan.Deployer))
	if a.taken && ctx.Err() == nil {
		c.result.Notes = append(c.result.Notes, restartNote(a.err))
	}
	c.turn.come(at)
	return c.finish(c.run(ctx))
}

// restartNote is the remark of a cell that had to be started again.
func restartNote(err error) string {
	why, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Sprintf("started from scratch, since its cluster that was started ahead could not be used: %s", why)
}

func (a *aheadCell) drop() error {
	a.mu.Lock()
	a.dropped = !a.taken
	dropped := a.dropped
	a.mu.Unlock()
	if !dropped {
		return nil
	}
	a.end(errDropped)
	<-a.done
	return a.cell.closing
}

// answerTime is how long the API server of a cluster that was started ahead may take to answer when
// the cell's turn has come. One that does not is started again.
const answerTime = 5 * time.Second

// awaitTurn waits until the cell is taken. From then on it is its own: what goes wrong is its
// verdict.
func (c *cellRun) awaitTurn(ctx context.Context) error {
	if !c.startedAhead {
		return nil
	}
	c.turn.finish("", nil)
	select {
	case <-c.turn.came:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	asked, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if _, err := c.env.Clients.Discovery.RESTClient().Get().AbsPath("/readyz").DoRaw(asked); err != nil {
		return fmt.Errorf("ask its API server whether it is ready: %w", err)
	}
	c.startedAhead = false
	c.noteStart()
	c.showPlacement()
	return nil
}
