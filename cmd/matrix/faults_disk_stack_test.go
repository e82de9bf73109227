//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// asRoot runs a command with sudo, if this is not root already; it does not ask for a password.
func asRoot(command ...string) ([]byte, error) {
	if os.Getuid() != 0 {
		command = append([]string{"sudo", "-n"}, command...)
	}
	return exec.Command(command[0], command[1:]...).CombinedOutput()
}

// F27: a full disk has its own code, wherever it fills up, and nothing is left.
// Only Linux mounts a small disk this way.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	paths, stack := needStack(t)
	bin := buildProgram(t)
	for _, tc := range []struct {
		name      string
		size      string // of the disk, in the format of mount(8)
		artifacts bool   // the disk is only for the debug artifacts
		cell      string
	}{
		{name: "no room for a cluster", size: "48k", cell: "0 passed, 1 infrastructure"},
		{name: "no room for etcd", size: "16m", cell: "0 passed, 1 infrastructure"},
		{name: "no room for the evidence of a pass", size: "64k", artifacts: true, cell: "0 passed, 1 infrastructure"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			disk := t.TempDir()
			if out, err := asRoot("mount", "-t", "tmpfs", "-o", "mode=1777,size="+tc.size, "tmpfs", disk); err != nil {
				testskip.Missing(t, "a small disk cannot be mounted here, as root or with sudo: %v\n%s", err, out)
			}
			t.Cleanup(func() {
				if out, err := asRoot("umount", "--lazy", disk); err != nil {
					t.Errorf("unmount the small disk: %v\n%s", err, out)
				}
			})
			args := []string{"run", "own", "--recipes-dir", ownRecipe(t, "1"), "--deployer", "helm"}
			cache := paths
			if tc.artifacts {
				args = append(args, "--artifacts", disk)
			} else {
				cache = host.Paths{Root: disk}
				if err := os.Symlink(filepath.Dir(stack.Dir), filepath.Join(disk, filepath.Base(filepath.Dir(stack.Dir)))); err != nil {
					t.Fatal(err)
				}
			}
			p := newProgram(t, bin, cache)
			r := p.run(t, 10*time.Minute, nil, args...)
			r.want(t, 15, "NO_SPACE", "no space left on device")
		})
	}
}
