package host

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

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

// endLeft kills every process whose environment names a directory, which is that of one process
// alone, and says how many there were. A process that leaves its group and its session is nobody's
// child in the end, and has only its environment from where it came (proc_pid_environ(5)).
func endLeft(dir string) int {
	killed := map[string]bool{}
	for found := true; found; { // one may start the next meanwhile
		found = false
		all, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			return len(killed)
		}
		for _, file := range all {
			environ, err := os.ReadFile(file) // empty for one that has ended, and refused for other users'
			if err != nil || !bytes.Contains(environ, []byte("="+dir+"\x00")) && !bytes.Contains(environ, []byte("="+dir+"/")) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil && pid != os.Getpid() && syscall.Kill(pid, syscall.SIGKILL) == nil {
				found, killed[file] = true, true
			}
		}
	}
	return len(killed)
}

// largestResident is the largest resident memory that a process has had as the program that it is, in
// bytes (proc_pid_status(5)); 0 if it has ended. What Linux counts for a process that has ended
// (ru_maxrss) begins with that of the program from which it was forked.
func largestResident(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, text, _ := strings.Cut(string(status), "\nVmHWM:")
	text, _, _ = strings.Cut(text, " kB")
	size, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return size << 10
}

// isStopped reports whether a signal has stopped a process (proc_pid_stat(5)). A tracer's stop has a
// state of its own.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ") // it follows the name, which is in parentheses
	return strings.HasPrefix(state, "T")
}

// machines are the names that Go has for the architectures of programs.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm", elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x", elf.EM_RISCV: "riscv64"}

// Starts returns an error for an executable file that this machine cannot start: neither a script nor
// a program of its architecture.
func Starts(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	head := make([]byte, 4)
	if n, err := io.ReadFull(f, head); err != nil && n < 2 {
		return errors.New("it is empty")
	}
	if string(head[:2]) == "#!" {
		by := Interpreters(path)
		if len(by) == 0 {
			return errors.New("it is a script without an interpreter")
		}
		for _, program := range by {
			if _, err := os.Stat(program); err != nil {
				return fmt.Errorf("it is a script for %s: %w", program, err)
			}
		}
		return nil
	}
	if string(head) != elf.ELFMAG {
		return errors.New("it is no program of Linux, and no script: that begins with #! and the path of a program")
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return err
	}
	is := cmp.Or(machines[program.Machine], program.Machine.String())
	if is == "ppc64le" && program.ByteOrder == binary.BigEndian {
		is = "ppc64"
	}
	if is != runtime.GOARCH && !(is == "386" && runtime.GOARCH == "amd64") {
		return fmt.Errorf("it is a program for %s, and this machine has %s", is, runtime.GOARCH)
	}
	return nil
}
