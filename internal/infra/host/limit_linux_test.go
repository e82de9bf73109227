package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// growEnv makes the test binary take memory, in MiB.
const growEnv = "AICR_ACTION_TEST_GROW"

func init() {
	if os.Getenv(growEnv) == "" {
		return
	}
	var all [][]byte
	for range 2048 {
		part := make([]byte, 1<<20)
		for i := 0; i < len(part); i += 1 << 12 {
			part[i] = 1
		}
		all = append(all, part)
	}
	os.Exit(len(all) % 2)
}

// The line is far from the end of the log, and the same death without a limit is a crash.
func TestDeath_MemoryLimit(t *testing.T) {
	log := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(log, []byte("ok\nfatal error: runtime: out of memory\n"+strings.Repeat("goroutine 1 [select]:\n", 2*lastLines)), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := deathOf(ProcessSpec{Name: "x", Log: log, Memory: 1 << 30}, crashStatus, os.ErrClosed); got.Reason != reason.DeployFailed || got.Crash != "" || !strings.Contains(got.Help, "1024 MiB") {
		t.Errorf("got %+v", got)
	}
	if got := deathOf(ProcessSpec{Name: "x", Log: log}, crashStatus, os.ErrClosed); got.Reason != reason.ComponentDied || got.Crash == "" || got.Help != "" {
		t.Errorf("without a limit: got %+v", got)
	}
}

// A process that grows ends at its limit, and its death is no fault of the stack's. Without a limit
// it goes on.
func TestMemoryLimit(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sup := NewSupervisor()
	t.Cleanup(func() { sup.Close(0) })
	if _, err := sup.Start(ProcessSpec{Name: "helm-controller", Path: self, Env: []string{growEnv + "=1", "GOMEMLIMIT=off"}, Dir: dir, Log: filepath.Join(dir, "log"), Memory: 512 << 20}); err != nil {
		t.Fatal(err)
	}
	select {
	case death := <-sup.Died():
		if death.Reason != reason.DeployFailed || death.Crash != "" || !strings.Contains(death.Help, "over its limit of 512 MiB of memory (fatal error: ") {
			t.Errorf("got %+v", death)
		}
	case <-time.After(time.Minute):
		t.Fatal("it did not end")
	}
	if uses := sup.Uses(); len(uses) != 1 || uses[0].Peak > 600<<20 {
		t.Errorf("got %+v", uses)
	}
}
