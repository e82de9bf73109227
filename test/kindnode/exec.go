package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// program is a command with the directory and the environment that it needs. Its output is kept for
// the error.
type program struct {
	dir   string
	env   []string
	stdin *os.File
}

// run returns what the program printed. An error has the command and the last 4 KiB of its standard
// error.
func (p program) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.env...)
	if p.stdin != nil {
		cmd.Stdin = p.stdin
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(errs.String())
		if text == "" {
			text = strings.TrimSpace(out.String())
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text[max(0, len(text)-4096):])
	}
	return out.String(), nil
}

// runGroup runs a command and all that it starts as one: an interrupt reaches every one of them,
// and none is left when it returns. The go command leaves an interrupt to the test programs that it
// has started.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	var err error
	ended := make(chan struct{})
	go func() { defer close(ended); err = cmd.Wait() }()
	kill := func(s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) } // the group may be gone
	defer kill(syscall.SIGKILL)
	select {
	case <-ended:
		return err
	case <-ctx.Done():
	}
	kill(syscall.SIGINT)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		kill(syscall.SIGKILL)
		<-ended
	}
	return context.Cause(ctx)
}

// step runs one part of the work and prints how long it took. Steps may run side by side.
func step(what string, do func() error) error {
	start := time.Now()
	fmt.Fprintf(os.Stderr, "==> %s\n", what)
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(os.Stderr, "    %s: %s\n", what, time.Since(start).Round(100*time.Millisecond))
	return nil
}
