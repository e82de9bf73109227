// Package confined does work that a stranger's text decides in a process of its own: this program,
// started once more, with no files, no network, an empty environment, and limits of time and
// memory. Only questions go in, and only answers come out.
//
// It knows processes. It must not know what the questions mean.
package confined

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// variable has the order, as JSON, in the environment of the process that works. Serve removes it
// before it answers.
const variable = "AICR_ACTION_CONFINED"

// Limits bound one answer.
type Limits struct {
	// Time from the question to the answer, of the wall clock.
	Time time.Duration
	// Memory of the process, in bytes.
	Memory uint64
}

// order is what the process is told when it starts.
type order struct {
	Name   string
	Limits Limits
}

// LimitError is an answer that went over one of the Limits.
type LimitError struct{ What string }

func (e *LimitError) Error() string { return e.What }

// Worker asks a process, which it starts when it is first needed, and once more after that process
// was ended by a limit. It answers one question after the other; any number of goroutines may ask.
// Close it.
type Worker[Question, Answer any] struct {
	// Name of the work, as Serve has it.
	Name   string
	Limits Limits

	mu      sync.Mutex
	process *process
}

// Ask sends a question and waits for the answer. Errors are a *LimitError, ctx's, or that the
// process could not be started or ended by itself.
func (w *Worker[Question, Answer]) Ask(ctx context.Context, q Question) (Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var answer, none Answer
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if w.process == nil {
		p, err := start(order{w.Name, w.Limits})
		if err != nil {
			return none, fmt.Errorf("start the process for %s: %w", w.Name, err)
		}
		w.process = p
	}
	stop := context.AfterFunc(ctx, w.process.kill)
	err := w.process.ask(w.Name, q, &answer)
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

// Close ends the process, if there is one.
func (w *Worker[Question, Answer]) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *Worker[Question, Answer]) end() {
	if w.process != nil {
		w.process.close()
		w.process = nil
	}
}

// process is the one that works, with its pipes.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	to      *bufio.Writer
	encoder *gob.Encoder
	decoder *gob.Decoder
	said    *head
}

func start(o order) (*process, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self := "/proc/self/exe" // this program, even if its file was replaced or removed since it started
	if runtime.GOOS != "linux" {
		if self, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	p := &process{cmd: exec.Command(self), said: &head{}}
	p.cmd.Args = []string{strings.ReplaceAll(o.Name, " ", "-")}
	p.cmd.Env = []string{variable + "=" + string(text)}
	p.cmd.Dir = "/" // an image of this program alone has no other
	p.cmd.Stderr = p.said
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.to = bufio.NewWriterSize(p.in, 1<<16)
	p.encoder, p.decoder = gob.NewEncoder(p.to), gob.NewDecoder(bufio.NewReaderSize(out, 1<<16))
	return p, nil
}

// ask waits for the answer. With an error the process is of no more use.
func (p *process) ask(name string, q, answer any) error {
	err := p.encoder.Encode(q)
	if err == nil {
		err = p.to.Flush()
	}
	if err == nil {
		err = p.decoder.Decode(answer)
	}
	if err == nil {
		return nil
	}
	p.kill()
	ended := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(ended, &exit) {
		if what, limited := strings.CutPrefix(p.said.String(), limitMark); limited && exit.ExitCode() == limitCode {
			return &LimitError{What: strings.TrimSpace(what)}
		}
		if strings.Contains(p.said.String(), "out of memory") {
			return &LimitError{What: "it takes more memory than there is"}
		}
		if strings.Contains(p.said.String(), "stack exceeds") {
			return &LimitError{What: "it is nested too deeply"}
		}
	}
	return fmt.Errorf("the process for %s ended (%w, %w):\n%s", name, err, errors.Join(ended), p.said)
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended

// close lets the process end, which it does when there is nothing more to read.
func (p *process) close() {
	_ = p.in.Close()
	p.kill()
	_ = p.cmd.Wait() // the second call, after ask's, is an error and nothing else
}

// head keeps the first 8 KiB of what a process says: the cause of a crash comes before the stacks.
type head struct {
	mu   sync.Mutex
	text []byte
}

func (t *head) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), 8<<10-len(t.text))]...)
	return len(p), nil
}

func (t *head) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
