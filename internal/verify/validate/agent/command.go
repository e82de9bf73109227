package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// runChecks is the command of the container: a test binary with its flags. Stdout gets the markers
// and, between them, the test binary's events as lines of JSON. The exit code is the test binary's:
// 0 passed, 1 a check failed, 2 it could not run; more than 128 after a signal.
func runChecks(args []string, stdout, stderr io.Writer) int {
	debug := len(args) > 0 && args[0] == debugFlag
	if debug {
		args = args[1:]
	}
	if len(args) == 0 {
		args = []string{""}
	}
	if _, err := phaseOf(args[0]); err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", runChecksCommand, err)
		return 2
	}
	self, err := os.Executable()
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: find this program: %v\n", runChecksCommand, err)
		return 2
	}
	if debug {
		_, _ = fmt.Fprintf(stderr, "debug: %s %q with %s=%q %s=%q\n", self, args,
			recipePathEnv, os.Getenv(recipePathEnv), snapshotPathEnv, os.Getenv(snapshotPathEnv))
	}
	cmd := exec.Command(self, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env = append(os.Environ(), binaryEnv+"="+args[0])
	out := &lockedWriter{w: stdout}
	out.line(BeginMarker)
	defer out.line(EndMarker)
	if err := runInto(cmd, out); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			_, _ = fmt.Fprintf(stderr, "%s: %v\n", runChecksCommand, err)
			return 2
		}
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return exit.ExitCode()
	}
	return 0
}

// runInto runs a test binary and writes its events. It forwards a signal that terminates this
// process, since in a container no other process would.
func runInto(cmd *exec.Cmd, out *lockedWriter) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = write, write
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(ended)
	err = cmd.Start()
	_ = write.Close() // the child has its own
	if err != nil {
		_ = read.Close()
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-ended:
				_ = cmd.Process.Signal(s) // it may have ended meanwhile
			case <-done:
				return
			}
		}
	}()
	c := newConverter(out.event)
	reader := bufio.NewReader(read)
	for {
		line, err := reader.ReadString('\n')
		if line != "" {
			c.line(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			break
		}
	}
	_ = read.Close() // everything was read
	err = cmd.Wait()
	c.end(err == nil)
	return err
}

// lockedWriter writes whole lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.w, text+"\n") // a log that cannot be written has no reader
}
