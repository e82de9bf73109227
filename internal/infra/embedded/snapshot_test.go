package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// TestSnapshot_DeadEtcd: saving a snapshot from a dead etcd must fail soon, so that the other debug
// artifacts are collected.
func TestSnapshot_DeadEtcd(t *testing.T) {
	c, sup := fakeCluster(t, host.Paths{Root: infratest.ShortTempDir(t)}, "x", nil)
	file := filepath.Join(t.TempDir(), "x")
	ended := make(chan error, 1)
	go func() { ended <- c.Up(t.Context()) }() // etcd is a script that sleeps
	infratest.WaitStarted(t, sup, "kube-apiserver")
	if err := syscall.Kill(-sup.Process("etcd").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("Up succeeded without etcd")
	}
	err := c.Snapshot(t.Context(), file, clusterstate.About{})
	if err == nil || !strings.Contains(err.Error(), "etcd does not run") || !strings.Contains(err.Error(), c.Logs()["etcd"]) {
		t.Errorf("got %v, want that etcd does not run, and its log", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file: %v", err)
	}
}
