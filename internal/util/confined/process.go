package confined

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// Process is a started process, with its pipes. What is sent and received goes through encoding/gob.
type Process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	to      *bufio.Writer
	encoder *gob.Encoder
	decoder *gob.Decoder
	said    *head
	subject string
}

// Start starts a command, whose standard streams the Process uses. The subject is the first words
// of a LimitError, e.g. "rendering it".
func Start(cmd *exec.Cmd, subject string) (*Process, error) {
	p := &Process{cmd: cmd, said: &head{}, subject: subject}
	cmd.Stderr = p.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.to = bufio.NewWriterSize(p.in, 1<<16)
	p.encoder, p.decoder = gob.NewEncoder(p.to), gob.NewDecoder(bufio.NewReaderSize(out, 1<<16))
	return p, nil
}

// PID is the process's number, which is also that of its group if the command made one.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Send sends a value.
func (p *Process) Send(v any) error {
	if err := p.encoder.Encode(v); err != nil {
		return err
	}
	return p.to.Flush()
}

// Receive waits for a value, and fills it in.
func (p *Process) Receive(v any) error { return p.decoder.Decode(v) }

// Ask sends a question and waits for the answer. With an error, a *LimitError or an *endedError
// that calls the process by this name, the process is of no more use.
func (p *Process) Ask(name string, question, answer any) error {
	err := p.Send(question)
	if err == nil {
		err = p.Receive(answer)
	}
	if err == nil {
		return nil
	}
	p.Kill()
	return p.Ended(name, err, p.cmd.Wait())
}

// Ended is the error of a process that has ended: the limit that it went over, or else what was
// being done, how it ended and what it said.
func (p *Process) Ended(name string, doing, ended error) error {
	said := p.said.String()
	var exit *exec.ExitError
	if errors.As(ended, &exit) {
		if what, limited := strings.CutPrefix(said, limitMark); limited && exit.ExitCode() == limitCode {
			return &LimitError{What: strings.TrimSpace(what)}
		}
		if strings.Contains(said, "out of memory") {
			return &LimitError{What: p.subject + " takes more memory than there is"}
		}
	}
	return &endedError{Name: name, Said: said, Crashed: exit != nil, err: fmt.Errorf("%w, %w", doing, errors.Join(ended))}
}

// Kill kills the process. It may have ended.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Wait waits for the end of a process that was killed, or that ends when there is nothing more to
// read.
func (p *Process) Wait() error {
	_ = p.in.Close()
	return p.cmd.Wait()
}

// Close kills the process and waits for its end.
func (p *Process) Close() {
	p.Kill()
	_ = p.Wait() // a second Wait, after that of Ask, only returns an error
}

// endedError is a process that exited, or was killed, before its answer.
type endedError struct {
	Name string
	// Said is the beginning of what it printed on its standard error.
	Said string
	// Crashed: it ended with a code or by a signal.
	Crashed bool
	err     error
}

func (e *endedError) Error() string { return fmt.Sprintf("%s ended (%v):\n%s", e.Name, e.err, e.Said) }

// Unwrap gives the cause, and how the process ended.
func (e *endedError) Unwrap() error { return e.err }

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
