package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// fakeStack has a shell script in the place of every binary of the control plane.
func fakeStack(t *testing.T, scripts map[string]string) *stack.Stack {
	t.Helper()
	s := infratest.Stack(t, host.Paths{Root: t.TempDir()})
	if err := os.MkdirAll(filepath.Dir(s.Bin("x")), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range stack.GroupControlPlane.Parts() {
		script := scripts[p.Name]
		if script == "" {
			script = "exec sleep 1000"
		}
		// kwokctl asks each binary for its version before it writes the command line.
		version := `case "$*" in --version) echo "Kubernetes ` + s.KubeVersion() + `"; echo "etcd Version: 3.6.8"; exit ;; esac`
		if err := os.WriteFile(s.Bin(p.Name), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+version+"\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func fakeCluster(t *testing.T, paths host.Paths, name string, scripts map[string]string) (*ControlPlane, *host.Supervisor) {
	t.Helper()
	sup := infratest.Supervisor(t)
	c := NewControlPlane(ControlPlaneOptions{Name: name, Paths: paths, Stack: fakeStack(t, scripts), Ports: host.NewPorts(t.TempDir()), Sup: sup, Open: true}) // a script needs the machine's shell
	t.Cleanup(func() {
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c, sup
}

func TestUp_ComponentExits(t *testing.T) {
	for name, script := range map[string]string{"etcd": "echo cannot open the data file; exit 1", "kube-apiserver": "echo bad flag >&2; exit 2"} {
		t.Run(name, func(t *testing.T) {
			c, sup := fakeCluster(t, host.Paths{Root: t.TempDir()}, "x", map[string]string{name: script})
			err := c.Up(t.Context())
			var named *reason.Error
			if !errors.As(err, &named) || named.Reason != reason.ClusterFailed || named.Component != name {
				t.Fatalf("got %v, want CLUSTER_FAILED of %s", err, name)
			}
			for _, part := range []string{name + " of cluster x ended", c.Logs()[name], testkit.Last(host.Tail(c.Logs()[name], 1))[0]} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			var pids []int
			for _, p := range sup.Processes() {
				pids = append(pids, p.PID)
			}
			if err := c.Down(t.Context()); err != nil {
				t.Fatal(err)
			}
			testkit.WaitGone(t, pids...)
		})
	}
}

func TestUp_ClusterExists(t *testing.T) {
	paths := host.Paths{Root: t.TempDir()}
	theirs := savedState(t, paths, "taken", os.Getppid())
	c, sup := fakeCluster(t, paths, "taken", nil)
	err := c.Up(t.Context())
	if err == nil || !strings.Contains(err.Error(), "matrix cluster down --name taken") {
		t.Errorf("got %v", err)
	}
	if len(sup.Processes()) > 0 {
		t.Error("processes were started")
	}
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(theirs.dir, stateFile)); err != nil {
		t.Errorf("Down of the refused cluster touched the other: %v", err)
	}
}

func TestUp_Interrupted(t *testing.T) {
	why := errors.New("interrupted by a test")
	ctx, cancel := context.WithCancelCause(t.Context())
	c, sup := fakeCluster(t, host.Paths{Root: t.TempDir()}, "x", nil) // an API server that never answers
	ended := make(chan error, 1)
	go func() { ended <- c.Up(ctx) }()
	infratest.WaitStarted(t, sup, "kube-apiserver")
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("got %v, want the cause of the interrupt", err)
	}
}
