package render

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// What a process with limits needs on both of its ends, whatever it does with charts.

// passed are the variables that a template could see something of, by the names of days and the
// zone of times, and those of Go's collector.
var passed = []string{"LANG", "LC_ALL", "TZ", "GOGC"}

// Command is this program's own file once more, under another name, with the variable that makes an
// init function of it take over. It gets nothing else of the environment that a template could
// read.
func Command(name, variable, value string) (*exec.Cmd, error) {
	self := "/proc/self/exe" // this program, even if its file was replaced or removed since it started
	if runtime.GOOS != "linux" {
		var err error
		if self, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(self)
	cmd.Args = []string{name}
	// Where there is no Landlock, Go's HTTP client is kept from other machines: a chart's schema
	// may name any address.
	cmd.Env = []string{variable + "=" + value, "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd, nil
}

const (
	// limitCode is the exit code of a process that went over a limit; behind limitMark it has said
	// which one.
	limitCode = 125
	limitMark = "over the limit: "
	// watched is how often time and memory are looked at.
	watched = 20 * time.Millisecond
)

// OverLimit is the limit that a process ended at, by its end and by what it said; "" if it was
// none.
func OverLimit(ended error, said *Head) string {
	var exit *exec.ExitError
	if !errors.As(ended, &exit) {
		return ""
	}
	if what, limited := strings.CutPrefix(said.String(), limitMark); limited && exit.ExitCode() == limitCode {
		return strings.TrimSpace(what)
	}
	if strings.Contains(said.String(), "out of memory") {
		return "rendering it takes more memory than there is"
	}
	return ""
}

// Head keeps the first 8 KiB of what a process says: the cause of a crash comes before the stacks.
type Head struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *Head) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), 8<<10-len(t.text))]...)
	return len(p), nil
}

func (t *Head) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// Watch ends this process when it takes too much. A template cannot be stopped in any other way.
type Watch struct {
	limits Limits
	start  time.Time
	to     io.Writer
	began  atomic.Int64 // of the rendering, in nanoseconds after start; 0 while nothing is rendered
	spent  atomic.Int64 // the CPU time of this process then, in nanoseconds
}

// NewWatch says what it has to say on what is the standard error now.
func NewWatch(limits Limits) *Watch { return &Watch{limits: limits, start: time.Now(), to: os.Stderr} }

// Begin starts the clocks of a rendering; End stops them.
func (w *Watch) Begin() {
	w.spent.Store(int64(cpuTime()))
	w.began.Store(int64(time.Since(w.start)) + 1)
}

// End is the end of a rendering, if there was one.
func (w *Watch) End() { w.began.Store(0) }

// Run watches for ever.
func (w *Watch) Run() {
	for range time.Tick(watched) {
		if began := w.began.Load(); began != 0 {
			if time.Since(w.start)-time.Duration(began) > w.limits.Time {
				w.end(fmt.Sprintf("rendering it takes longer than %s", w.limits.Time))
			}
			if limit := w.limits.CPU; limit > 0 && cpuTime()-time.Duration(w.spent.Load()) > limit && w.began.Load() == began {
				w.end(fmt.Sprintf("rendering it takes more than %s of CPU time", limit))
			}
		}
		if memory() > w.limits.Memory {
			w.end(fmt.Sprintf("rendering it takes more than %d MiB of memory", w.limits.Memory>>20))
		}
	}
}

func (w *Watch) end(why string) {
	_, _ = fmt.Fprintln(w.to, limitMark+why) // the exit code says it too
	os.Exit(limitCode)
}

// cpuTime is what this process has used so far, in all of its threads.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0 // the limit of time is left
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// memory is what the Go runtime has of the system's, in bytes.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
