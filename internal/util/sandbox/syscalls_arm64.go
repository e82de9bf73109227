//go:build linux

package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// firstX32 is above all numbers: this architecture has one set of them.
const firstX32 = 0

// ownCalls are denied, and exist on this architecture only.
var ownCalls []uintptr
