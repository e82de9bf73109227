package host

import (
	"errors"
	"syscall"
	"unsafe"
)

// limitMemory limits the memory that a process, and each of its children, may map for data
// (RLIMIT_DATA, setrlimit(2)). A Go program that exceeds it exits with "out of memory". Mapped
// files and reserved memory do not count. A lower limit of the user stays.
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
