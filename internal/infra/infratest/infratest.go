// Package infratest has what tests on the embedded platform share: the shipped parts list, profiles and stages, and processes that a
// test starts itself. It is imported by tests only.
package infratest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// Stack is the shipped parts list, in these directories.
func Stack(t testing.TB, paths host.Paths) *stack.Stack {
	t.Helper()
	s, err := stack.NewStack(paths, kwok.StackMod, kwok.StackSum)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Profiles are the shipped node profiles.
func Profiles(t testing.TB) []simulate.Profile {
	t.Helper()
	all, err := simulate.LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// OperatorStages are the shipped stages that simulate operators.
func OperatorStages(t testing.TB) []simulate.OperatorStage {
	t.Helper()
	stages, err := simulate.LoadOperatorStages(kwok.Files, "stages/operators")
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// Supervisor is closed when the test ends.
func Supervisor(t testing.TB) *host.Supervisor {
	s := host.NewSupervisor()
	t.Cleanup(func() { s.Close(0) })
	return s
}

// Shell is a process that runs a script.
func Shell(t testing.TB, name, script string) host.ProcessSpec {
	dir := t.TempDir()
	return host.ProcessSpec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Log: filepath.Join(dir, "logs", name+".log")}
}

// Start starts a process.
func Start(t testing.TB, s *host.Supervisor, spec host.ProcessSpec) *host.Process {
	t.Helper()
	p, err := s.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// NextDeath is the next process that ends by itself, within 10 s.
func NextDeath(t testing.TB, s *host.Supervisor) *infra.DeathError {
	t.Helper()
	select {
	case d := <-s.Died():
		return d
	case <-time.After(10 * time.Second):
		t.Fatal("no death was reported")
		return nil
	}
}

// WaitStarted waits until a supervisor has started the process of that name.
func WaitStarted(t testing.TB, sup *host.Supervisor, name string) {
	t.Helper()
	testkit.Eventually(t, name+" to be started", 10*time.Second, func() wait.Result {
		if sup.Process(name) == nil {
			return wait.NotYet("it is not")
		}
		return wait.Done()
	})
}
