package host

import "syscall"

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
