//go:build !linux

package infra

import "syscall"

// processAttributes: a group of its own. Other systems than Linux have no parent-death signal: after a SIGKILL of this program
// its processes stay, and `matrix cluster status` shows them as stale, to be removed with `matrix cluster down`.
func processAttributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
