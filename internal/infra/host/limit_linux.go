package host

import (
	"errors"
	"syscall"
	"unsafe"
)

// limitMemory limits what a process, and each that it starts, may map for data (RLIMIT_DATA,
// setrlimit(2)): a Go program that asks for more ends with "out of memory". What is mapped for
// files, and what is only reserved, does not count. A lower limit of the user's own stays.
func limitMemory(pid int, bytes uint64) error {
	if bytes == 0 {
		return nil
	}
	var have syscall.Rlimit
	if err := prlimit(pid, nil, &have); err != nil {
		return err
	}
	want := syscall.Rlimit{Cur: min(bytes, have.Cur), Max: min(bytes, have.Max)}
	return prlimit(pid, &want, nil)
}

// prlimit is prlimit(2) for RLIMIT_DATA. A process that has ended needs no limit.
func prlimit(pid int, set, get *syscall.Rlimit) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_DATA, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
	if errno != 0 && !errors.Is(errno, syscall.ESRCH) {
		return errno
	}
	return nil
}
