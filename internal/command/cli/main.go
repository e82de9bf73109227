package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/pprof"
	"syscall"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Program is a whole program without its process: it takes arguments and returns an exit code.
type Program func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int

// Main runs a program with the arguments, environment and streams of this process, and returns its
// exit code. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT cancels the context with an Interrupt as
// its cause; the second one ends the process at once. SIGQUIT prints the stack of every goroutine
// first, as it does in other Go programs.
func Main(program Program) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	// A reader that goes away (| head) must neither end a run in its middle nor change its code, nor be
	// an error of any other command: patientOutput drops what nobody can read. Notified and not
	// ignored, since the programs that are started would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stdout, stderr := newPatient(os.Stdout), newPatient(os.Stderr)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		s := (<-signals).(syscall.Signal)
		if s == syscall.SIGQUIT {
			_ = pprof.Lookup("goroutine").WriteTo(stderr, 2)
		}
		cancel(&Interrupt{Signal: s})
		<-signals // a second signal does not wait for debug artifacts and cleanup
		os.Exit(reason.SignalBase + int(s))
	}()
	code := program(ctx, os.Args[1:], os.Getenv, stdout, stderr)
	stdout.Finish()
	stderr.Finish()
	return code
}

// Brief has this process collect less garbage, for commands that read, print and end within a
// second: collecting is a quarter of their CPU time. A GOGC of the user's own is kept.
func Brief(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Interrupt is the cause of a run that a signal ended.
type Interrupt struct{ Signal syscall.Signal }

func (e *Interrupt) Error() string { return "interrupted by " + e.Signal.String() }

// As lets reason.Of see the name of an interrupt.
func (e *Interrupt) As(target any) bool {
	named, ok := target.(**reason.Error)
	if ok {
		*named = &reason.Error{Reason: reason.Interrupted, Err: e}
	}
	return ok
}
