package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

func TestMain(m *testing.M) {
	workers.Serve(cli.Hidden())
	if len(os.Args) > 1 && podPrograms[os.Args[1]] != nil {
		os.Exit(podPrograms[os.Args[1]](os.Args[2:]))
	}
	os.Exit(testkit.Main(m))
}

// built is the program as a user has it.
var built = testkit.Binary{Name: "matrix", Build: func(path string) *exec.Cmd { return exec.Command("go", "build", "-o", path, ".") }}

func buildProgram(t *testing.T) string {
	t.Helper()
	return built.Path(t)
}

// needStack skips the test with -short, or if the stack's processes cannot be watched. Otherwise it
// builds the stack, which takes many minutes the first time.
func needStack(t *testing.T) (host.Paths, *stack.Stack) {
	t.Helper()
	testskip.Short(t, "no real stack")
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		testskip.Missing(t, "no /proc: the test could not tell which processes are left")
	}
	paths := infratest.Cache(t)
	built, err := stack.NewStack(paths, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatalf("read the stack's parts list: %v", err)
	}
	p := cli.NewProgress(os.Stderr, os.Getenv)
	defer p.Close()
	if err := built.Build(t.Context(), p, stack.Groups()...); err != nil {
		t.Fatalf("build the stack: %v", err)
	}
	return paths, built
}

// program is the real binary with a cache directory, in which the stack is, and a prefix for the
// clusters of one test: every process of its runs has the prefix in its environment.
type program struct {
	bin    string
	paths  host.Paths
	prefix string
	// user runs it; nil is this test's own user.
	user *syscall.Credential
}

// newProgram waits until there is room for a cell, and checks at the end of the test that nothing
// of it is left.
func newProgram(t *testing.T, bin string, paths host.Paths) program {
	t.Helper()
	infratest.Slots(t, 1)
	p := program{bin: bin, paths: paths, prefix: "test-" + cli.NewRunID()}
	t.Cleanup(func() {
		p.wantNothingLeft(t)
		for _, pid := range p.processes(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return p
}

// process is the program while it runs.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *testkit.Log
	done           chan struct{}
}

// start starts the program; it is killed at the end of the test if it still runs.
func (p program) start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	pr := &process{cmd: exec.Command(p.bin, args...), stdout: &testkit.Log{}, stderr: &testkit.Log{}, done: make(chan struct{})}
	// These tests also run in CI, where the recipes in the binary have to be asked for.
	pr.cmd.Env = append(os.Environ(), "AICR_ACTION_CACHE="+p.paths.Root, "KWOK_CLUSTER="+p.prefix, "AICR_ACTION_RECIPES_DIR=embedded")
	pr.cmd.Env = append(pr.cmd.Env, env...)
	if p.user != nil {
		pr.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	}
	pr.cmd.Stdout, pr.cmd.Stderr = pr.stdout, pr.stderr
	if err := pr.cmd.Start(); err != nil {
		t.Fatalf("start matrix %s: %v", strings.Join(args, " "), err)
	}
	go func() {
		defer close(pr.done)
		_ = pr.cmd.Wait() // ProcessState has the exit code
	}()
	t.Cleanup(func() {
		_ = pr.cmd.Process.Kill()
		<-pr.done
	})
	return pr
}

// run runs the program to its end.
func (p program) run(t *testing.T, budget time.Duration, env []string, args ...string) *process {
	t.Helper()
	pr := p.start(t, env, args...)
	pr.wait(t, budget)
	return pr
}

// wait waits for the end.
func (pr *process) wait(t *testing.T, budget time.Duration) {
	t.Helper()
	select {
	case <-pr.done:
	case <-time.After(budget):
		t.Fatalf("%s did not end within %s\nstdout:\n%s\nstderr:\n%s", strings.Join(pr.cmd.Args, " "), budget, pr.stdout, pr.stderr)
	}
}

// code is the exit code; -1 if a signal ended it.
func (pr *process) code() int { return pr.cmd.ProcessState.ExitCode() }

// want fails the test unless the program exited with the code and printed every part on stdout or
// stderr.
func (pr *process) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if pr.code() != code {
		t.Fatalf("%s: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(pr.cmd.Args, " "), pr.code(), code, pr.stdout, pr.stderr)
	}
	wantText(t, strings.Join(pr.cmd.Args, " "), pr.stdout.String()+pr.stderr.String(), parts...)
}

// until waits for a text on stderr, where progress is.
func (pr *process) until(t *testing.T, text string) {
	t.Helper()
	eventually(t, "progress "+strconv.Quote(text), 10*time.Minute, func() error {
		select {
		case <-pr.done:
			t.Fatalf("%s ended before %q\nstdout:\n%s\nstderr:\n%s", strings.Join(pr.cmd.Args, " "), text, pr.stdout, pr.stderr)
		default:
		}
		if !strings.Contains(pr.stderr.String(), text) {
			return errors.New(pr.stderr.String())
		}
		return nil
	})
}

// eventually polls until check is content.
func eventually(t *testing.T, what string, budget time.Duration, check func() error) {
	t.Helper()
	err := wait.For(context.Background(), what, wait.Options{Budget: budget, Interval: 50 * time.Millisecond}, func(context.Context) wait.Result {
		if err := check(); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// processes lists the processes of this program's runs: by their environment, which every
// descendant inherits, or by the cluster's directory on their command line.
func (p program) processes(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatalf("list processes: %v", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, cmdline := procFile(pid, "environ"), procFile(pid, "cmdline")
		if strings.Contains(environ, "KWOK_CLUSTER="+p.prefix+"\x00") || strings.Contains(cmdline, "/"+p.prefix) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// procFile is empty for a process that has exited or is a zombie.
func procFile(pid int, name string) string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return string(raw)
}

// wantNoProcess waits a little for the kernel: a parent-death signal is not instant.
func (p program) wantNoProcess(t *testing.T) {
	t.Helper()
	eventually(t, "the processes of "+p.prefix+" to be gone", time.Minute, func() error {
		var left []string
		for _, pid := range p.processes(t) {
			left = append(left, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(procFile(pid, "cmdline"), "\x00", " ")))
		}
		if len(left) > 0 {
			return errors.New(strings.Join(left, "\n"))
		}
		return nil
	})
}

// runID is the name of the run that has a cluster now.
func (p program) runID(t *testing.T) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(p.paths.Clusters(), p.prefix+"-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("clusters of %s: got %q, %v; want one", p.prefix, dirs, err)
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dirs[0]), p.prefix+"-"), "-")
	if _, err := os.Stat(filepath.Join(p.paths.Root, "runs", id)); err != nil {
		t.Fatalf("the directory of run %s: %v", id, err)
	}
	return id
}

func (p program) wantNothingLeft(t *testing.T) {
	t.Helper()
	p.wantNoProcess(t)
	if left, _ := filepath.Glob(filepath.Join(p.paths.Clusters(), p.prefix+"*")); len(left) > 0 {
		t.Errorf("clusters are left: %q", left)
	}
}
