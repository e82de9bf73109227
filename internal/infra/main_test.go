package infra

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/wait"
)

// helperEnv makes the test binary play the parent of a supervised process, so that a test can kill a parent.
const helperEnv = "AICR_ACTION_TEST_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		if err := helperParent(dir); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// helperParent supervises one process, says its PID and stays until it is killed.
func helperParent(dir string) error {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	p, err := NewSupervisor().Start(ProcessSpec{Name: "child", Path: sleep, Args: []string{"1000"}, Log: dir + "/child.log"})
	if err != nil {
		return err
	}
	fmt.Println(p.PID)
	<-p.Done()
	return nil
}

// eventually waits for a condition, and fails the test with what was lacking at the end.
func eventually(t testing.TB, what string, budget time.Duration, probe func() wait.Result) {
	t.Helper()
	err := wait.For(t.Context(), what, wait.Options{Budget: budget, Interval: 20 * time.Millisecond}, func(context.Context) wait.Result { return probe() })
	if err != nil {
		t.Fatal(err)
	}
}

// running: a zombie does not run any more; it only waits for a parent to ask for its exit code.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		// No /proc: the process table is all there is.
		out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func waitGone(t testing.TB, pids ...int) {
	t.Helper()
	eventually(t, "the processes to be gone", 10*time.Second, func() wait.Result {
		for _, pid := range pids {
			if running(pid) {
				return wait.NotYet("process %d runs", pid)
			}
		}
		return wait.Done()
	})
}

// waitNumber waits until a process has written a number to a file.
func waitNumber(t testing.TB, path string) int {
	t.Helper()
	n := 0
	eventually(t, "a number in "+path, 10*time.Second, func() wait.Result {
		raw, err := os.ReadFile(path)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if n, err = strconv.Atoi(strings.TrimSpace(string(raw))); err != nil || !strings.HasSuffix(string(raw), "\n") {
			return wait.NotYet("it has %q", raw)
		}
		return wait.Done()
	})
	return n
}

func waitStarted(t testing.TB, sup *Supervisor, name string) {
	t.Helper()
	eventually(t, name+" to be started", 10*time.Second, func() wait.Result {
		if sup.Process(name) == nil {
			return wait.NotYet("it is not")
		}
		return wait.Done()
	})
}
