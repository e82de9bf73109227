package confined

import (
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

// Confine puts this process under the profile and the limits, for good, and returns the watch over
// the latter. What libraries print is dropped from now on.
func Confine(profile sandbox.Profile, limits Limits, subject string) (*Watch, error) {
	// A terminal's interrupt is for the program that started this one, which then ends it.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := sandbox.Restrict(profile); err != nil {
		return nil, fmt.Errorf("give up rights: %w", err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300) // it lives for a minute at most, like the processes of the stack
	}
	debug.SetMemoryLimit(int64(limits.Memory) / 4 * 3) // the collector becomes eager before the limit is reached
	w := &Watch{limits: limits, subject: subject, start: time.Now(), to: os.Stderr}
	if err := silence(); err != nil {
		return nil, err
	}
	go w.run()
	return w, nil
}

// silence drops what libraries tell a person at a terminal: there may be any amount of it,
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

// Watch ends this process when it takes too much. An expression or a template
// cannot be stopped in any other way.
type Watch struct {
	limits  Limits
	subject string
	start   time.Time
	to      io.Writer
	began   atomic.Int64 // of the work, in nanoseconds after start; 0 between two pieces of work
	spent   atomic.Int64 // the CPU time of this process then, in nanoseconds
}

// Begin starts the limits of time and CPU time of one piece of work; End stops them.
func (w *Watch) Begin() {
	w.spent.Store(int64(cpuTime()))
	w.began.Store(int64(time.Since(w.start)) + 1)
}

// End is the end of a piece of work, if there was one.
func (w *Watch) End() { w.began.Store(0) }

func (w *Watch) run() {
	for range time.Tick(watched) {
		if began := w.began.Load(); began != 0 {
			if time.Since(w.start)-time.Duration(began) > w.limits.Time {
				w.end(fmt.Sprintf("%s takes longer than %s", w.subject, w.limits.Time))
			}
			if limit := w.limits.CPU; limit > 0 && cpuTime()-time.Duration(w.spent.Load()) > limit && w.began.Load() == began {
				w.end(fmt.Sprintf("%s takes more than %s of CPU time", w.subject, limit))
			}
		}
		if memory() > w.limits.Memory {
			w.end(fmt.Sprintf("%s takes more than %d MiB of memory", w.subject, w.limits.Memory>>20))
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
