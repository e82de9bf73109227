package host

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// leastFree is the free space in bytes below which a disk counts as full: no component of the stack
// starts with less.
const leastFree = 1 << 20

// lastLines of a log are looked at for what its process died of: a Go program that panics writes
// the stacks of its goroutines after it.
const lastLines = 400

var deadly = regexp.MustCompile(`^panic: |^fatal error: |"level":"(fatal|panic)"|^F\d{4} |` + syscall.ENOSPC.Error())

// crashed matches the first line that Go's runtime prints when it ends a program with exit status
// 2: after a panic that is not recovered, an error of the runtime, or a signal for a fault
// (https://pkg.go.dev/runtime, https://pkg.go.dev/os/signal). SIGABRT and SIGQUIT are no crash,
// since another process sends them.
var crashed = regexp.MustCompile(`^(panic: |fatal error: |SIG(SEGV|BUS|FPE|ILL): )`)

const (
	crashStatus = 2 // the exit status with it
	// crashBytes at the end of a log are looked at: an API server writes the stacks of some
	// thousand goroutines after that line.
	crashBytes = 16 << 20
)

// crashLine is the line in a log that says how a Go program crashed; empty if it ended with another
// status, or says nothing of that kind.
func crashLine(log string, status int) string {
	if status != crashStatus {
		return ""
	}
	f, err := os.Open(log)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(-crashBytes, io.SeekEnd); err != nil { // it is shorter
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return ""
		}
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, crashBytes)
	for lines.Scan() {
		if crashed.Match(lines.Bytes()) {
			return lines.Text()
		}
	}
	return ""
}

// deathOf describes a process that exited with an error without being stopped.
func deathOf(spec ProcessSpec, status int, err error) *infra.DeathError {
	d := &infra.DeathError{Name: spec.Name, Err: err, Reason: DeathReason(spec.Log, cmp.Or(spec.Death, reason.ComponentDied)), Log: spec.Log, Tail: lastWords(spec.Log, tailLines)}
	if d.Reason == reason.NoSpace { // etcd panics on a full disk
		return d
	}
	d.Crash = crashLine(spec.Log, status)
	if spec.Memory > 0 && outOfMemory.MatchString(d.Crash) { // that is no defect of the program's, and would happen again
		d.Reason = reason.DeployFailed
		d.Help = fmt.Sprintf("it went over its limit of %d MiB of memory (%s): look for a template that takes more and more, depending on what lookup, .Capabilities or .Release say; its log is among the debug artifacts", spec.Memory>>20, d.Crash)
		d.Crash = ""
	}
	if d.Crash != "" && !slices.Contains(d.Tail, d.Crash) {
		d.Tail = append([]string{d.Crash}, d.Tail[min(1, len(d.Tail)):]...)
	}
	return d
}

// outOfMemory is how Go's runtime says that it got no more memory.
var outOfMemory = regexp.MustCompile(`^fatal error: .*(out of memory|cannot allocate memory)`)

// tailLines of a log are in the report of a process that ended.
const tailLines = 5

// lastWords are the last n lines of a log; the first of them is the line that says what the process
// died of, where there is one.
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

// DeathReason is NO_SPACE for a process that ended on a full disk: it says so in the last lines of
// its log, or, since the log is mostly on that disk too, there is no space where the log is.
// Otherwise it is the given reason.
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
