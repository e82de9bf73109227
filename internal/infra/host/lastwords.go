package host

import (
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/nvidia/aicr-action/internal/reason"
)

// leastFree is the free space in bytes below which a disk counts as full: no component of the stack starts with less.
const leastFree = 1 << 20

// lastLines of a log are looked at for what its process died of: a Go program that panics writes the stacks of its goroutines after it.
const lastLines = 400

var deadly = regexp.MustCompile(`^panic: |^fatal error: |"level":"(fatal|panic)"|^F\d{4} |` + syscall.ENOSPC.Error())

// lastWords are the last n lines of a log; the first of them is the line that says what the process died of, where there is one.
func lastWords(log string, n int) []string {
	lines := Tail(log, lastLines)
	last := lines[max(0, len(lines)-n):]
	for _, line := range lines[:len(lines)-len(last)] {
		if deadly.MatchString(line) {
			return append([]string{line}, last[min(1, len(last)):]...)
		}
	}
	return last
}

// DeathReason is NO_SPACE for a process that ended on a full disk: it says so in the last lines of its log, or, since the log is mostly on
// that disk too, there is no space where the log is. Otherwise it is the given reason.
func DeathReason(log string, otherwise reason.Reason) reason.Reason {
	for _, line := range Tail(log, lastLines) {
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
