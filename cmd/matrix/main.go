// Command matrix runs AICR recipes through their deployers on a simulated GPU cluster. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// A reader that goes away (| head) must neither end a run in its middle nor change its code: writing fails, and that is all. Notified and
	// not ignored, since the programs that are started would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		s := <-signals
		cancel(&interruptError{signal: s.(syscall.Signal)})
		<-signals // a second one does not wait for evidence and cleanup
		os.Exit(128 + int(s.(syscall.Signal)))
	}()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}
