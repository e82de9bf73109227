package testkit

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Eventually waits for a condition, and fails the test with what was lacking at the end.
func Eventually(t testing.TB, what string, budget time.Duration, probe func() wait.Result) {
	t.Helper()
	err := wait.For(t.Context(), what, wait.Options{Budget: budget, Interval: 20 * time.Millisecond}, func(context.Context) wait.Result { return probe() })
	if err != nil {
		t.Fatal(err)
	}
}

// Running reports whether a process runs. A zombie does not: it only waits for its parent to read
// its exit code.
func Running(pid int) bool {
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

// WaitGone waits until none of the processes runs.
func WaitGone(t testing.TB, pids ...int) {
	t.Helper()
	Eventually(t, "the processes to be gone", 10*time.Second, func() wait.Result {
		for _, pid := range pids {
			if Running(pid) {
				return wait.NotYet("process %d runs", pid)
			}
		}
		return wait.Done()
	})
}

// WaitNumber waits until a process has written a number to a file.
func WaitNumber(t testing.TB, path string) int {
	t.Helper()
	n := 0
	Eventually(t, "a number in "+path, 10*time.Second, func() wait.Result {
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

// Last is the last line, or none.
func Last(lines []string) []string { return lines[max(0, len(lines)-1):] }

// Listen listens on port, or on one near it if that is taken, and says which.
func Listen(t testing.TB, port int) int {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		l, err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("address %v", l.Addr())
	}
	return addr.Port
}
