// Package sandbox runs a program under Landlock, the part of Linux with which a process gives up
// rights without being root; without capabilities; and under a filter of system calls (seccomp).
//
// A process can restrict itself only, so the program is started through this one: the process
// starts this program's own file, with the profile in an argument; the hidden command (Hidden)
// restricts the process and then becomes the program. The PID, the process group and the
// parent-death signal stay.
package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// Profile is what a process may do. What is not listed is refused, except for reading what any Go
// program needs of the system (system).
type Profile struct {
	ReadWrite []string // directories, with all that is below
	Read      []string // files and directories
	Execute   []string // programs, and directories of them: read and execute
	// Scratch are directories that other processes use too: files can be made, read and removed by
	// name, but not listed or started.
	Scratch []string
	// Connect and Bind are TCP ports, at any address: Landlock knows only ports.
	Connect, Bind []int
	// Binds are directories that the process sees at other paths, and may read there; only where
	// CanBind. Overlay is a directory for what the kernel needs to show paths that do not exist;
	// the caller removes it.
	Binds   []Bind
	Overlay string
	// Root, if set, are the files that the process sees in place of the machine's; only where CanRoot.
	// The paths of the profile are then in it, and it needs Overlay.
	Root *Root
	// AnyOwner: root keeps its rights over files of any owner and mode, below the paths of the profile.
	// An ordinary user has none to keep.
	AnyOwner bool
	// Unix lets it create Unix sockets with any path, since neither a filter of system calls nor
	// Landlock before ABI 9 knows the path.
	Unix bool
}

// Bind is a directory, Source, that a process sees at Target.
type Bind struct{ Source, Target string }

// Root is the root of a process that sees none of the machine's files. It is the first process of its
// own: what it starts ends with it.
type Root struct {
	// Dir has the files. They do not change: what the process writes is in the profile's overlay.
	Dir string
	// Mounts are files and directories that the process sees besides.
	Mounts []Mount
	// WorkDir is where it starts; empty: /. It is made where it does not exist.
	WorkDir string
	// ReadOnly leaves it no place to write but writable mounts.
	ReadOnly bool
}

// Mount is a file or directory, Source, that a process sees at Target.
type Mount struct {
	Source, Target string
	Writable       bool
	Device         bool
}

// command is the hidden command that becomes the program. Its arguments are the profile, as JSON,
// and the program's path and arguments.
const command = "sandbox"

// system is what Go programs read of the machine, where it exists: resolver, certificates, time
// zones, limits. Of /proc only the process's own directory: the others' have the environments of
// other processes of the user.
var system = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/localtime", "/etc/ssl", "/etc/pki", "/etc/ca-certificates",
	"/usr/share/ca-certificates", "/usr/share/zoneinfo", "/proc/self", "/proc/sys", "/proc/stat", "/proc/meminfo", "/proc/cpuinfo", "/proc/loadavg",
	"/sys/kernel/mm/transparent_hugepage", "/sys/fs/cgroup", "/sys/devices/system/cpu", "/dev/urandom", "/dev/random",
}

// devices may be written too.
var devices = []string{"/dev/null"}

// Hidden returns the hidden commands that Wrap and CanBind start.
func Hidden() []reexec.Command {
	return append([]reexec.Command{{Name: command, Failed: 126, Run: func(args []string) error {
		if len(args) < 2 {
			return fmt.Errorf("start a program in its sandbox: want a profile and a program, got %d arguments", len(args))
		}
		return fmt.Errorf("start a program in its sandbox: %w", become(args[0], args[1:]))
	}}}, hiddenOfSystem()...)
}

// Restrict puts this process under the profile, for good, as far as the kernel goes. Wrap is for
// other programs.
func Restrict(p Profile) error { return restrict(p) }

// Wrap changes a command so that it starts under the profile. It changes nothing on systems other
// than Linux.
func Wrap(cmd *exec.Cmd, p Profile) error {
	if !wraps && p.Root != nil {
		return CanRoot()
	}
	if !wraps {
		return nil
	}
	if p.Root != nil {
		separateRoot(cmd)
	} else if _, err := os.Stat(cmd.Path); err != nil { // the process in between would say so, but later and in a log
		return err
	}
	if len(p.Binds) > 0 {
		separate(cmd)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write down the sandbox of %s: %w", cmd.Path, err)
	}
	between, err := reexec.Process(command, append([]string{string(text), cmd.Path}, cmd.Args[1:]...)...)
	if err != nil {
		return fmt.Errorf("start %s in its sandbox: %w", cmd.Path, err)
	}
	cmd.Path, cmd.Args = between.Path, between.Args
	return nil
}
