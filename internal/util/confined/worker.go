// Package confined does work that depends on untrusted text in another process: this program,
// started once more, with no files, no network, an empty environment, and limits of time and
// memory. The process only reads questions and writes answers.
//
// It knows processes. It must not know what the questions mean.
package confined

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// subject is the first word of a Worker's LimitErrors.
const subject = "it"

// Limits bound one answer.
type Limits struct {
	// Time from the question to the answer, of the wall clock.
	Time time.Duration
	// CPU time of the process in that time; 0: no limit.
	CPU time.Duration
	// Memory of the process, in bytes.
	Memory uint64
}

// LimitError is an answer that went over one of the Limits.
type LimitError struct{ What string }

func (e *LimitError) Error() string { return e.What }

// Worker asks a process, which it starts when it is first needed, and once more after that process
// was ended by a limit. It answers one question after the other; any number of goroutines may ask.
// Close it.
type Worker[Question, Answer any] struct {
	// Name of the work: that of the hidden command, whose Run is Serve.
	Name   string
	Limits Limits

	mu      sync.Mutex
	process *Process
}

// Ask sends a question and waits for the answer. Errors are a *LimitError, ctx's, or that the
// process could not be started or exited.
func (w *Worker[Question, Answer]) Ask(ctx context.Context, q Question) (Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var answer, none Answer
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if w.process == nil {
		p, err := w.start()
		if err != nil {
			return none, fmt.Errorf("start the process for %s: %w", w.Name, err)
		}
		w.process = p
	}
	stop := context.AfterFunc(ctx, w.process.Kill)
	err := w.process.Ask("the process for "+w.Name, q, &answer)
	if ended := (*endedError)(nil); errors.As(err, &ended) && ended.Crashed && strings.Contains(ended.Said, "stack exceeds") {
		err = &LimitError{What: subject + " is nested too deeply"}
	}
	if !stop() && ctx.Err() != nil || err != nil {
		w.end()
	}
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	if err != nil {
		return none, err
	}
	return answer, nil
}

func (w *Worker[Question, Answer]) start() (*Process, error) {
	text, err := json.Marshal(w.Limits)
	if err != nil {
		return nil, err
	}
	cmd, err := reexec.Process(w.Name, string(text))
	if err != nil {
		return nil, err
	}
	cmd.Dir = "/" // an image of this program alone has no other
	return Start(cmd, subject)
}

// Close ends the process, if there is one.
func (w *Worker[Question, Answer]) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *Worker[Question, Answer]) end() {
	if w.process != nil {
		w.process.Close()
		w.process = nil
	}
}
