package render

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// env has the limits, as JSON, in the environment of the process that renders. This program's own
// file is started once more with it: init (serve.go) then renders instead of doing whatever the
// program is for. Test binaries can be that process too.
const env = "AICR_ACTION_RENDER_LIMITS"

// process is the one that renders, with its pipes.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	to      *bufio.Writer
	encoder *gob.Encoder
	decoder *gob.Decoder
	said    *Head
}

func start(limits Limits) (*process, error) {
	Register()
	text, err := json.Marshal(limits)
	if err != nil {
		return nil, err
	}
	cmd, err := Command("render-charts", env, string(text))
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, said: &Head{}}
	p.cmd.Dir = os.TempDir()
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

// ask sends a request and waits for its answer. With an error the process is of no more use.
func (p *process) ask(req wireRequest) (*wireAnswer, error) {
	answer := &wireAnswer{}
	err := p.encoder.Encode(req)
	if err == nil {
		err = p.to.Flush()
	}
	if err == nil {
		err = p.decoder.Decode(answer)
	}
	if err == nil {
		return answer, nil
	}
	p.kill()
	ended := p.cmd.Wait()
	if what := OverLimit(ended, p.said); what != "" {
		return nil, &LimitError{What: what}
	}
	return nil, fmt.Errorf("the process that renders charts ended (%w, %w):\n%s", err, errors.Join(ended), p.said)
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended

// close lets the process end, which it does when there is nothing more to read.
func (p *process) close() {
	_ = p.in.Close()
	p.kill()
	_ = p.cmd.Wait() // the second call, after ask's, is an error and nothing else
}
