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
	"runtime"
	"strings"
	"sync"
)

// env has the limits, as JSON, in the environment of the process that renders. This program's own file is started once more with it: init
// (serve.go) then renders instead of doing whatever the program is for. Test binaries can be that process too.
const env = "AICR_ACTION_RENDER_LIMITS"

// passed are the variables that a template could see something of, by the names of days and the zone of times, and those of Go's collector.
var passed = []string{"LANG", "LC_ALL", "TZ", "GOGC"}

// process is the one that renders, with its pipes.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	to      *bufio.Writer
	encoder *gob.Encoder
	decoder *gob.Decoder
	said    *head
}

func start(limits Limits) (*process, error) {
	register()
	text, err := json.Marshal(limits)
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
	p.cmd.Args = []string{"render-charts"}
	// Where there is no Landlock, Go's HTTP client is kept from other machines: a chart's schema may name any address.
	p.cmd.Env = []string{env + "=" + string(text), "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			p.cmd.Env = append(p.cmd.Env, name+"="+value)
		}
	}
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
	var exit *exec.ExitError
	if errors.As(ended, &exit) {
		if what, limited := strings.CutPrefix(p.said.String(), limitMark); limited && exit.ExitCode() == limitCode {
			return nil, &LimitError{What: strings.TrimSpace(what)}
		}
		if strings.Contains(p.said.String(), "out of memory") {
			return nil, &LimitError{What: "rendering it takes more memory than there is"}
		}
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
