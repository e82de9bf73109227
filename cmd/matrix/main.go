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
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		s := <-signals
		cancel(&interruptError{signal: s.(syscall.Signal)})
		<-signals // a second one does not wait for evidence and cleanup
		os.Exit(128 + int(s.(syscall.Signal)))
	}()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}
