package infra

import (
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nvidia/aicr-action/internal/reason"
)

// leastFree is the free space in bytes below which a disk counts as full: no component of the stack starts with less.
const leastFree = 1 << 20

// deathReason is NO_SPACE for a process that ended on a full disk: it says so in the last lines of its log, or, since the log is mostly on
// that disk too, there is no space where the log is. Otherwise it is the given reason.
func deathReason(log string, otherwise reason.Reason) reason.Reason {
	for _, line := range Tail(log, 20) {
		if strings.Contains(line, syscall.ENOSPC.Error()) {
			return reason.NoSpace
		}
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(log), &disk); err == nil && uint64(disk.Bavail)*uint64(disk.Bsize) < leastFree {
		return reason.NoSpace
	}
	return otherwise
}
