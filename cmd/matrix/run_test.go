package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/command/cli"
)

// A signal during the build of the stack, or while another build is waited for, ends the program
// with the signal's code.
func TestRun_InterruptBeforeStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.Interrupt{Signal: syscall.SIGINT})
	for _, locked := range []bool{false, true} {
		cache := t.TempDir()
		path := strings.TrimSpace(invokeIn(t.Context(), t, cache, nil, "stack", "path").stdout)
		if !strings.HasPrefix(path, cache) {
			t.Fatalf("stack path: got %q, want it in %s", path, cache)
		}
		if locked {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			lock := flock.New(filepath.Join(path, "build.lock"))
			if err := lock.Lock(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = lock.Unlock() }()
		}
		r := invokeIn(ctx, t, cache, nil, "run", "eks", "--deployer", "helm")
		if r.code != 130 {
			t.Errorf("another build: %v: got code %d, want 130; stderr:\n%s", locked, r.code, r.stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(path, "bin", "*")); len(left) > 0 {
			t.Errorf("a build that was ended left %q", left)
		}
	}
}
