package host

import "syscall"

// ProcessAttributes: a group of its own, and death with the parent; or, detached, a session of its
// own.
func ProcessAttributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// rssUnit is that of ru_maxrss, in bytes (getrusage(2)).
const rssUnit = 1 << 10
