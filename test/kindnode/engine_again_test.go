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

// An engine that was killed starts again at once. Its containerd dies with it, but not in the same moment.
func TestEngineStartsAgain(t *testing.T) {
	dir, err := os.MkdirTemp("", "k") // short, since sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{dir: filepath.Join(dir, "engine")}
	t.Cleanup(func() {
		if err := errors.Join(e.down(context.WithoutCancel(t.Context())), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
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
