//go:build !linux

package host

import "syscall"

// ProcessAttributes: a group of its own. Other systems than Linux have no parent-death signal:
// after a SIGKILL of this program its processes stay, and `matrix cluster status` shows them as
// stale, to be removed with `matrix cluster down`.
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
