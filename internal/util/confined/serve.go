package confined

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

const (
	// limitCode is the exit code of a process that went over a limit; behind limitMark it has said
	// which one.
	limitCode = 125
	limitMark = "over the limit: "
	// watched is how often time and memory are looked at.
	watched = 20 * time.Millisecond
)

// Serve answers questions, and does not return, if this process was started by a Worker of that
// name; otherwise it does nothing. Call it in an init of the package that has the Worker: every
// program with that package, test binaries too, can then be the process that works.
func Serve[Question, Answer any](name string, answer func(Question) Answer) {
	text := os.Getenv(variable)
	var o order
	if text == "" || json.Unmarshal([]byte(text), &o) != nil || o.Name != name {
		return
	}
	said := os.Stderr
	if err := serve(o, os.Stdin, os.Stdout, answer); err != nil {
		_, _ = fmt.Fprintln(said, err) // the exit code says it too
		os.Exit(1)
	}
	os.Exit(0)
}

// serve answers until there is nothing more to read.
func serve[Question, Answer any](o order, in io.Reader, out io.Writer, answer func(Question) Answer) error {
	os.Clearenv()
	// A terminal's interrupt is for the program that started this one, which then ends it.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := sandbox.Restrict(sandbox.Profile{}); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	debug.SetMemoryLimit(int64(o.Limits.Memory) / 4 * 3) // the collector becomes eager before the limit is reached
	w := &watch{limits: o.Limits, start: time.Now(), to: os.Stderr}
	if err := silence(); err != nil {
		return err
	}
	go w.run()
	decoder := gob.NewDecoder(bufio.NewReader(in))
	to := bufio.NewWriter(out)
	encoder := gob.NewEncoder(to)
	for {
		var q Question
		if err := decoder.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		w.began.Store(int64(time.Since(w.start)) + 1)
		a := answer(q)
		w.began.Store(0)
		if err := encoder.Encode(a); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		if err := to.Flush(); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}

// silence drops what libraries tell whoever runs them at a terminal: there may be any amount of it,
// and what ended this process must not be lost behind it.
func silence() error {
	log.SetOutput(io.Discard)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("drop warnings: %w", err)
	}
	os.Stderr = null
	return nil
}

// watch ends this process when it takes too much: an expression or a template cannot be stopped in
// any other way.
type watch struct {
	limits Limits
	start  time.Time
	to     io.Writer
	began  atomic.Int64 // of the question, in nanoseconds after start; 0 between questions
}

func (w *watch) run() {
	for range time.Tick(watched) {
		if began := w.began.Load(); began != 0 && time.Since(w.start)-time.Duration(began) > w.limits.Time {
			w.end(fmt.Sprintf("it takes longer than %s", w.limits.Time))
		}
		if memory() > w.limits.Memory {
			w.end(fmt.Sprintf("it takes more than %d MiB of memory", w.limits.Memory>>20))
		}
	}
}

func (w *watch) end(why string) {
	_, _ = fmt.Fprintln(w.to, limitMark+why) // the exit code says it too
	os.Exit(limitCode)
}

// memory is what the Go runtime has of the system's, in bytes.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
