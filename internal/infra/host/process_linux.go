package host

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ProcessAttributes puts a process into its own process group, and has the kernel kill it with its
// parent. A detached process gets its own session instead.
func ProcessAttributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// rssUnit is that of ru_maxrss, in bytes (getrusage(2)).
const rssUnit = 1 << 10

// isStopped reports whether a signal has stopped a process (proc_pid_stat(5)). A tracer's stop has a
// state of its own.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ") // it follows the name, which is in parentheses
	return strings.HasPrefix(state, "T")
}
