//go:build kind

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// ownEngine is an engine of the test's own, which does not run yet, and the directory that it is
// in. Both go with the test.
func ownEngine(t *testing.T) (e *engine, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "k") // short, since sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	e = &engine{dir: filepath.Join(dir, "engine")}
	t.Cleanup(func() {
		if err := errors.Join(e.down(context.WithoutCancel(t.Context())), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return e, dir
}

// An engine that was killed starts again at once. Its containerd dies with it, but not in the same
// moment.
func TestEngineStartsAgain(t *testing.T) {
	e, _ := ownEngine(t)
	if err := e.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := syscall.Kill(e.pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := e.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
