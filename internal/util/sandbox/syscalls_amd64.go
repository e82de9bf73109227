//go:build linux

package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// firstX32 is the first number of the system calls of this architecture's 32-bit variant, which has
// the same calls with other numbers.
const firstX32 = 0x40000000

// ownCalls are denied, and exist on this architecture only.
var ownCalls = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}
