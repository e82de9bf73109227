package workflow

import (
	"context"
	"fmt"
	"sync"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
)

// chaosRun is the steps of a chaos file beside the tasks of workflows.
type chaosRun struct {
	mu     sync.Mutex
	tasks  map[string]chan struct{} // closed when a task with the id has passed
	cancel context.CancelFunc
	done   chan struct{}
	result *result.Chaos
}

// startChaos starts the steps.
func (e *Engine) startChaos(ctx context.Context) *chaosRun {
	ctx, cancel := context.WithCancel(ctx)
	c := &chaosRun{tasks: map[string]chan struct{}{}, cancel: cancel, done: make(chan struct{})}
	runner := &chaos.Runner{Clients: e.Clients, TaskPassed: c.await, Begin: func(step string) func(string) {
		line := e.Progress.Begin("chaos: " + step)
		return func(end string) { line.End(end, nil) }
	}}
	go func() {
		defer close(c.done)
		c.result = runner.Run(ctx, e.Chaos)
	}()
	return c
}

// end waits for the last step, unless a task has failed: then no further step starts.
func (c *chaosRun) end(failed error) *result.Chaos {
	if failed != nil {
		c.cancel()
	}
	<-c.done
	c.cancel()
	return c.result
}

func (c *chaosRun) task(id string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tasks[id] == nil {
		c.tasks[id] = make(chan struct{})
	}
	return c.tasks[id]
}

func (c *chaosRun) passed(id string) {
	passed := c.task(id)
	select {
	case <-passed: // an id may be used again
	default:
		close(passed)
	}
}

func (c *chaosRun) await(ctx context.Context, id string) error {
	select {
	case <-c.task(id):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// started returns how many workflows have started.
func started(r *Result) int {
	n := 0
	for i := range r.Workflows {
		if !r.Workflows[i].Started.IsZero() {
			n++
		}
	}
	return n
}

// chaosNotes returns the steps that could not be done.
func chaosNotes(c *result.Chaos) []string {
	var all []string
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Status == result.StepFailed {
			all = append(all, fmt.Sprintf("chaos step %s (%s:%d) could not be done: %s", s.Name, c.File, s.Line, s.Error))
		}
	}
	return all
}

// TaskIDs returns the ids of all tasks.
func (p *Plan) TaskIDs() []string {
	var all []string
	for _, w := range p.Workflows {
		for _, t := range w.Tasks {
			all = append(all, t.ID)
		}
	}
	return all
}
