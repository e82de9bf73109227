package infratest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/util/wait"
)

// slots is how many cells the tests of this machine run at a time. A cell waits about half of its
// time, and needs 1 to 2 GiB of memory. With four on two busy cores an API server was silent for the
// ten seconds after which a cell is CLUSTER_FAILED.
func slots() int { return max(3, 3*runtime.NumCPU()/2) }

// Slots waits until n more cells may run on this machine, whichever tests and packages run the
// others, and keeps that room until the test ends. It logs how long it waited, because the time of
// the test includes it.
func Slots(t testing.TB, n int) {
	t.Helper()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("aicr-test-slots-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	takeSlots(t, dir, slots(), n)
	t.Logf("queued: %.1fs", time.Since(start).Seconds())
}

// takeSlots takes n of the locks in dir. A test holds the door while it takes its locks, so that
// two tests cannot each hold half of the locks that they need.
func takeSlots(t testing.TB, dir string, total, n int) {
	t.Helper()
	door := flock.New(filepath.Join(dir, "door.lock"))
	lockOne(t, []*flock.Flock{door})
	var free []*flock.Flock
	for i := range total {
		free = append(free, flock.New(filepath.Join(dir, fmt.Sprintf("%d.lock", i))))
	}
	for range min(n, total) {
		lock := lockOne(t, free)
		t.Cleanup(func() {
			if err := lock.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := door.Unlock(); err != nil {
		t.Error(err)
	}
}

// lockOne waits until one of the locks that are not held can be taken. The kernel drops the locks
// of a process that has ended.
func lockOne(t testing.TB, locks []*flock.Flock) *flock.Flock {
	t.Helper()
	var taken *flock.Flock
	err := wait.For(t.Context(), "the tests that run now to leave room for another cell", wait.Options{Budget: time.Hour, Interval: 100 * time.Millisecond}, func(context.Context) wait.Result {
		for _, lock := range locks {
			if lock.Locked() {
				continue // this test has taken it before
			}
			ok, err := lock.TryLock()
			if err != nil {
				return wait.Never(err)
			}
			if ok {
				taken = lock
				return wait.Done()
			}
		}
		return wait.NotYet("all are taken")
	})
	if err != nil {
		t.Fatal(err)
	}
	return taken
}
