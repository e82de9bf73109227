//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// deniedCalls are system calls that no program of a cell needs and that lead out of a sandbox: to
// other processes, mounts, namespaces and modules, to settings of the machine, and around Landlock
// (io_uring makes sockets without the calls below).
var deniedCalls = []uintptr{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_SETNS, unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// namespaces are the flags of clone and unshare that make one. CLONE_NEWTIME is unshare's alone: in
// clone's flags its bit is part of a signal's number.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// What the kernel shows a filter of a system call (struct seccomp_data): its number, the
// architecture, and six arguments of 64 bits, of which those that are looked at here are in the
// lower half, on machines that store that first.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArguments    = 16
)

// call is how a system call is answered: by the first of the rules that fits, or else as otherwise
// says.
type call struct {
	number    uintptr
	rules     []rule
	otherwise bpf.RetConstant
}

// rule is an answer that is given if all of its conditions hold.
type rule struct {
	answer bpf.RetConstant
	when   []condition
}

// condition holds if the bits of an argument have this value or, with any, if one of the bits is
// set.
type condition struct {
	argument, bits, value uint32
	any                   bool
}

const whole = 0xffffffff

func fail(errno unix.Errno) bpf.RetConstant {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func allow() bpf.RetConstant { return bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW} }

// flagged is a call that is denied if the argument has one of the bits.
func flagged(number uintptr, argument, bits uint32, errno unix.Errno) call {
	return call{number, []rule{{fail(errno), []condition{{argument: argument, bits: bits, any: true}}}}, allow()}
}

// calls are all that the filter does not allow as they are.
func calls(p Profile) []call {
	var all []call
	for _, number := range slices.Concat(deniedCalls, ownCalls) {
		all = append(all, call{number: number, otherwise: fail(unix.EPERM)})
	}
	all = append(all,
		flagged(unix.SYS_CLONE, 0, namespaces, unix.EPERM),
		flagged(unix.SYS_UNSHARE, 0, namespaces|unix.CLONE_NEWTIME, unix.EPERM),
		call{number: unix.SYS_CLONE3, otherwise: fail(unix.ENOSYS)}, // its flags are in memory, which a filter cannot read; C libraries take clone then
		// With this flag the first data connects, and Landlock's rule of ports is not asked.
		flagged(unix.SYS_SENDTO, 3, unix.MSG_FASTOPEN, unix.EACCES),
		flagged(unix.SYS_SENDMSG, 2, unix.MSG_FASTOPEN, unix.EACCES),
		flagged(unix.SYS_SENDMMSG, 3, unix.MSG_FASTOPEN, unix.EACCES),
		sockets(p.Unix))
	if !p.Unix {
		all = append(all, pairs())
	}
	return all
}

// sockets filters socket(2). It allows TCP, UDP, the kernel's tables of addresses and, with named,
// Unix sockets. It rejects raw and packet sockets, which see what other processes send, and MPTCP
// and SCTP, which Landlock does not treat as TCP, so that they could dial any port.
func sockets(named bool) call {
	const family, kind, protocol = 0, 1, 2
	const kinds = 0xf // without SOCK_CLOEXEC and SOCK_NONBLOCK
	c := call{number: unix.SYS_SOCKET, otherwise: fail(unix.EACCES)}
	for _, inet := range []uint32{unix.AF_INET, unix.AF_INET6} {
		of := func(k, p uint32, answer bpf.RetConstant) {
			c.rules = append(c.rules, rule{answer, []condition{{argument: family, bits: whole, value: inet}, {argument: kind, bits: kinds, value: k}, {argument: protocol, bits: whole, value: p}}})
		}
		of(unix.SOCK_STREAM, 0, allow())
		of(unix.SOCK_STREAM, unix.IPPROTO_TCP, allow())
		of(unix.SOCK_STREAM, unix.IPPROTO_MPTCP, fail(unix.EPROTONOSUPPORT)) // as a kernel without it: Go's listeners try it first
		of(unix.SOCK_DGRAM, 0, allow())
		of(unix.SOCK_DGRAM, unix.IPPROTO_UDP, allow())
	}
	c.rules = append(c.rules, rule{allow(), []condition{{argument: family, bits: whole, value: unix.AF_NETLINK}, {argument: protocol, bits: whole, value: unix.NETLINK_ROUTE}}})
	if named {
		c.rules = append(c.rules, rule{allow(), []condition{{argument: family, bits: whole, value: unix.AF_UNIX}}})
	}
	return c
}

// pairs is socketpair(2) without named Unix sockets: a pair of datagram sockets could be connected
// to one after all.
func pairs() call {
	c := call{number: unix.SYS_SOCKETPAIR, otherwise: fail(unix.EACCES)}
	for _, k := range []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		c.rules = append(c.rules, rule{allow(), []condition{{argument: 1, bits: 0xf, value: k}}})
	}
	return c
}

// filter is the program that the kernel runs for each system call.
func filter(p Profile) []bpf.Instruction {
	steps := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: architecture, SkipTrue: 1},
		fail(unix.EPERM), // the calls of another architecture have other numbers
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
	}
	if firstX32 > 0 {
		steps = append(steps, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: firstX32, SkipTrue: 1}, fail(unix.EPERM))
	}
	for _, c := range calls(p) {
		steps = append(steps, c.steps()...)
	}
	return append(steps, allow())
}

// steps compare the number of the current call, and end with an answer if it is this one.
func (c call) steps() []bpf.Instruction {
	var answers []bpf.Instruction
	for _, r := range c.rules {
		answers = append(answers, r.steps()...)
	}
	answers = append(answers, c.otherwise)
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(c.number), SkipTrue: uint8(len(answers))}}, answers...)
}

// steps go on behind the rule if one of its conditions does not hold.
func (r rule) steps() []bpf.Instruction {
	steps := []bpf.Instruction{r.answer}
	for _, c := range slices.Backward(r.when) {
		test := bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.value, SkipTrue: uint8(len(steps))}
		if c.any {
			test = bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: uint8(len(steps))}
		}
		look := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetArguments + 8*c.argument, Size: 4}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.bits}, test}
		steps = append(look, steps...)
	}
	return steps
}

// canFilter reports whether the kernel has filters of system calls (CONFIG_SECCOMP_FILTER).
func canFilter() bool {
	answer := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&answer)))
	return errno == 0
}

// filterCalls puts all threads of this process, and every program that they become, under the
// filter. It needs forbidNewRights, which the kernel then sees to for the other threads too.
func filterCalls(p Profile) error {
	raw, err := bpf.Assemble(filter(p))
	if err != nil {
		return fmt.Errorf("assemble the filter of system calls: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	if !canFilter() {
		return nil
	}
	of := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&of)))
	runtime.KeepAlive(code)
	switch {
	case errno != 0:
		return fmt.Errorf("filter the system calls: %w", errno)
	case thread != 0:
		return fmt.Errorf("filter the system calls: thread %d has another filter", thread)
	}
	return nil
}
