package infratest

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// No more cells run at a time than there are slots, also if some tests need two slots, and all
// tests get their slots.
func TestSlots(t *testing.T) {
	dir := t.TempDir()
	var running, most atomic.Int32
	var wg sync.WaitGroup
	for i := range 9 {
		n := 1 + i%2
		wg.Go(func() {
			t.Run("", func(t *testing.T) {
				takeSlots(t, dir, 3, n)
				now := running.Add(int32(n))
				defer running.Add(int32(-n))
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				time.Sleep(5 * time.Millisecond) // so that others come in the meantime
			})
		})
	}
	wg.Wait()
	if most.Load() > 3 || most.Load() < 2 {
		t.Errorf("got %d cells at a time, want 3 at most, and more than one", most.Load())
	}
}

// A cluster in the user's cache is not seen by a test; the stack is.
func TestCache(t *testing.T) {
	user := t.TempDir()
	t.Setenv("AICR_ACTION_CACHE", user)
	for _, dir := range []string{"clusters/kept", "stack/abc"} {
		if err := os.MkdirAll(filepath.Join(user, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own := Cache(t)
	if _, err := os.Stat(filepath.Join(own.Stack(), "abc")); err != nil {
		t.Errorf("the user's stack: %v", err)
	}
	if found, _ := filepath.Glob(filepath.Join(own.Clusters(), "*")); len(found) > 0 {
		t.Errorf("the user's clusters are seen: %q", found)
	}
}
