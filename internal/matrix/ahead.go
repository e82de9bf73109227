package matrix

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// startedCell is a cell that was started before its turn. Both methods may be called from several
// goroutines.
type startedCell interface {
	// take starts the cell's turn and runs it to its end. If its cluster can no longer be used, the
	// cell starts again from scratch, once.
	take(ctx context.Context) finishedCell
	// drop stops the cell and removes its cluster. The error names what could not be removed. A
	// cell that was taken is not touched.
	drop() error
}

// aheadCell is a cell whose cluster and controllers were started before its turn, by the same steps
// as for any other cell. It has no result until it is taken: an earlier failure is not its verdict.
type aheadCell struct {
	runner *Runner
	cell   *cellRun
	end    context.CancelCauseFunc
	done   chan struct{}
	err    error // the cell's error; valid once done is closed

	mu             sync.Mutex
	taken, dropped bool
}

var errDropped = errors.New("the cluster that was started ahead is not needed")

// startAhead starts a cell, which waits before its first step that is not done ahead until it is
// taken.
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

// restartNote returns the note for a cell that had to be started again.
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

// answerTime bounds the API server's first answer when the turn of a cell has come whose cluster
// was started ahead. A cluster that does not answer is started again.
const answerTime = 5 * time.Second

// awaitTurn waits until the cell is taken. From then on its failures are its verdict.
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
