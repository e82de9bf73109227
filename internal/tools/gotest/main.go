// Command gotest runs `go test` with the arguments it is given and prints what `go test` prints: a
// line per package as it is done, and the output of tests that fail. After that it lists the
// slowest tests. It knows the events of `go test -json` and nothing of this project.
//
// With CI=true in the environment a test that is skipped is a failure, unless -short asks for that:
// CI must run every test.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// slowestTests is how many are listed.
const slowestTests = 10

// run ends with the exit code of go test; 1 if a test was skipped that must not be, or if the
// events cannot be read.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // tests clean up
	cmd.WaitDelay = time.Minute
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		say(stderr, "gotest: start go test: %v\n", err)
		return 1
	}
	p := newPrinter(stdout)
	readErr := p.read(events)
	if readErr != nil {
		_, _ = io.Copy(io.Discard, events) // so that go test can end
	}
	err = cmd.Wait()
	p.printSlowest(slowestTests)
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = max(1, exit.ExitCode())
	} else if err != nil {
		say(stderr, "gotest: go test: %v\n", err)
		code = 1
	}
	if readErr != nil {
		say(stderr, "gotest: read the events of go test: %v\n", readErr)
		code = max(1, code)
	}
	if getenv("CI") == "true" && !slices.Contains(args, "-short") && len(p.skipped) > 0 {
		p.printSkipped()
		code = max(1, code)
	}
	if code != 0 {
		say(stdout, "FAIL\n")
	}
	return code
}
