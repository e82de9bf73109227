//go:build !linux

package host

import "syscall"

// ProcessAttributes puts a process into its own process group. Systems other than Linux have no
// parent-death signal: after a SIGKILL of this program its processes stay. `matrix cluster status`
// shows them as stale, and `matrix cluster down` removes them.
func ProcessAttributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// rssUnit is that of ru_maxrss, in bytes: 1 on macOS.
const rssUnit = 1

// limitMemory does nothing: other systems do not enforce such a limit.
func limitMemory(int, uint64) error { return nil }

// isStopped is not known on other systems.
func isStopped(int) bool { return false }

// largestResident is not needed on other systems, where a process's own count begins with its
// program.
func largestResident(int) int64 { return 0 }

// endLeft finds nothing on other systems, which do not show the environments of processes.
func endLeft(string) int { return 0 }

// Starts is not known on other systems.
func Starts(string) error { return nil }
