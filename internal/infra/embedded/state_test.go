package embedded

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// savedState writes a cluster's state as a run does.
func savedState(t *testing.T, paths host.Paths, name string, owner int) *State {
	t.Helper()
	dir := filepath.Join(paths.Clusters(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := newState(name, dir)
	s.Owner = owner
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	return s
}

// endedPID is the PID of a process that has just ended.
func endedPID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "exit 0")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestStaleClusters(t *testing.T) {
	paths := host.Paths{Root: t.TempDir()}
	for _, test := range []struct {
		name        string
		owner       int
		locked      bool
		stale, mine bool
	}{
		{"of-this-run", os.Getpid(), true, false, true},
		{"that-stays", 0, false, false, false},
		{"of-another-run", os.Getppid(), true, false, false},
		{"of-a-run-that-is-gone", endedPID(t), false, true, false},
		{"whose-pid-is-a-stranger's-by-now", os.Getppid(), false, true, false},
	} {
		owner := savedState(t, paths, test.name, test.owner)
		if test.locked {
			if err := owner.own(); err != nil {
				t.Fatal(err)
			}
		}
		s, err := FindCluster(paths, test.name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Stale() != test.stale || s.Mine() != test.mine {
			t.Errorf("%s: stale %v, mine %v", test.name, s.Stale(), s.Mine())
		}
		runtime.KeepAlive(owner) // its lock goes with it
	}
}

func TestFindCluster(t *testing.T) {
	paths := host.Paths{Root: t.TempDir()}
	if _, err := FindCluster(paths, "x"); err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Errorf("no cluster at all: got %v", err)
	}
	savedState(t, paths, "red", 0)
	savedState(t, paths, "blue", 0)
	if err := os.MkdirAll(filepath.Join(paths.Clusters(), "somebody-elses"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := FindCluster(paths, "x"); err == nil || !strings.Contains(err.Error(), `"x"; there are: blue, red`) {
		t.Errorf("an unknown name: got %v", err)
	}
	s, err := FindCluster(paths, "red")
	if err != nil || s.Dir() != filepath.Join(paths.Clusters(), "red") || filepath.Dir(s.Kubeconfig()) != s.Dir() {
		t.Errorf("got %+v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(paths.Clusters(), "blue", stateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FindCluster(paths, "red"); err == nil || !strings.Contains(err.Error(), "blue") {
		t.Errorf("a broken state: got %v, want its directory", err)
	}
}

func TestRemove_OnlyItsOwn(t *testing.T) {
	paths := host.Paths{Root: t.TempDir()}
	sup := infratest.Supervisor(t)
	s := savedState(t, paths, "mine", 0)
	inDir := infratest.Shell(t, "etcd", "sleep 1000 & echo $! > pid; wait")
	inDir.Dir, inDir.Detach = s.dir, true
	own := infratest.Start(t, sup, inDir)
	child := testkit.WaitNumber(t, filepath.Join(s.dir, "pid"))
	t.Cleanup(func() { own.Stop(0) })
	// Its PID stands in the state, but it is not of the cluster: the system has used the PID again.
	foreign := infratest.Start(t, sup, infratest.Shell(t, "foreign", "exec sleep 1000"))
	for name, pid := range map[string]int{"etcd": own.PID, "kwok": foreign.PID, "kube-scheduler": endedPID(t)} {
		if err := s.addProcess(name, pid); err != nil {
			t.Fatal(err)
		}
	}
	neighbour := savedState(t, paths, "mine-too", 0)
	found, err := FindCluster(paths, "mine")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(found.Running(), " "); got != "etcd" {
		t.Errorf("running: %q, want etcd only", got)
	}
	if err := found.Remove(); err != nil {
		t.Fatal(err)
	}
	testkit.WaitGone(t, own.PID, child)
	if !testkit.Running(foreign.PID) {
		t.Error("Remove ended a process that is not the cluster's")
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	if _, err := os.Stat(neighbour.dir); err != nil {
		t.Errorf("the neighbour's directory: %v", err)
	}
	if err := found.Remove(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestDefaultPaths(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for set, want := range map[string]string{dir: dir, "cache": filepath.Join(dir, "cache")} {
		p, err := host.DefaultPaths(func(name string) string {
			if name == host.CacheEnv {
				return set
			}
			return ""
		})
		if err != nil || p.Root != want {
			t.Errorf("%s=%s: got %s, %v", host.CacheEnv, set, p.Root, err)
		}
	}
	p, err := host.DefaultPaths(func(string) string { return "" })
	if err != nil || filepath.Base(p.Root) != "aicr-action" {
		t.Errorf("got %s, %v", p.Root, err)
	}
}
