// Package infratest has what tests on the embedded platform share: the shipped parts list, profiles
// and stages, and processes that a test starts itself. It is imported by tests only.
package infratest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// Cache makes a cache directory for one test, so that the test does not see the clusters and runs
// of this machine. The directory shares the compiled stack and the locks of ports with the user's
// own, so that nothing is compiled twice and no port is allotted twice. The test removes it at its
// end.
func Cache(t testing.TB) host.Paths {
	t.Helper()
	user, err := host.DefaultPaths(os.Getenv)
	if err != nil {
		t.Fatalf("find the user's cache: %v", err)
	}
	own := host.Paths{Root: ShortTempDir(t)}
	for target, link := range map[string]string{user.Stack(): own.Stack(), user.Ports(): own.Ports()} {
		if err := os.MkdirAll(target, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	return own
}

// ShortTempDir is a temporary directory for Unix sockets: their paths have room for about 100
// bytes, and t.TempDir may use up all of them.
func ShortTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "aicr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Stack is the shipped parts list, in these directories.
func Stack(t testing.TB, paths host.Paths) *stack.Stack {
	t.Helper()
	s, err := stack.NewStack(paths, kwok.StackMod, kwok.StackSum, kwok.StackSources)
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

// NextDeath waits up to 10 s for the next process that exits without being stopped.
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

// ValidationRecipe is a resolved recipe whose validation requires a GPU node and the ConfigMap
// default/wanted.
const ValidationRecipe = `apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeResult
metadata: {name: r, appliedOverlays: [base]}
criteria: {service: eks, accelerator: h100, intent: training}
componentRefs:
- {name: c, namespace: default, type: Helm, expectedResources: [{kind: ConfigMap, name: wanted, namespace: default}]}
deploymentOrder: [c]
validation:
  readiness: {checks: [gpu-hardware-detection]}
  deployment: {checks: [expected-resources]}
`
