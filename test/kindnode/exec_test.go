package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The go command does not pass an interrupt on to the tests that it runs. A test program that
// stayed would go on using the engine.
func TestRunGroupLeavesNoProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cmd := exec.Command("sh", "-c", `trap "" INT; (tail -f /dev/null & echo $! >"$0.new"; mv "$0.new" "$0"; wait) & trap "exit 1" INT; wait`, file)
	reason := errors.New("interrupted")
	ended := make(chan error, 1)
	go func() { ended <- runGroup(ctx, cmd) }()
	var child int
	err := poll(t.Context(), time.Minute, func() error {
		text, err := os.ReadFile(file)
		if err == nil {
			child, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cancel(reason)
	if err := <-ended; !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
	err = poll(t.Context(), time.Minute, func() error {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(child), "stat"))
		if err != nil || strings.Contains(string(stat), ") Z ") { // gone, or dead and waiting for its parent
			return nil
		}
		return errors.New("it still runs: " + string(stat))
	})
	if err != nil {
		_ = syscall.Kill(child, syscall.SIGKILL) // it has outlived the test that failed
		t.Error(err)
	}
}

func TestProgramErrors(t *testing.T) {
	_, err := program{}.run(t.Context(), "sh", "-c", "echo out; echo why >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "exit status 3\nwhy") {
		t.Errorf("got %v", err)
	}
	if out, err := (program{env: []string{"A=b"}, dir: "/"}).run(t.Context(), "sh", "-c", "echo $A $PWD"); err != nil || out != "b /\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestPoll(t *testing.T) {
	asked := 0
	if err := poll(t.Context(), time.Minute, func() error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	}); err != nil || asked != 3 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	if err := poll(t.Context(), time.Millisecond, func() error { return errors.New("never") }); err == nil || err.Error() != "never" {
		t.Errorf("got %v", err)
	}
}
