// Package reexec has the hidden commands of a program: the work for which it starts its own file as
// another process. A program lists its hidden commands in main, and a test binary in TestMain;
// importing a package adds none.
//
// It knows processes. It must not know what the commands do.
package reexec

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
)

// marker is the first argument of a process that runs a hidden command; the second one is the
// command's name.
const marker = "__hidden"

// Command is a hidden command.
type Command struct {
	// Name is the argument of Process that selects the command, e.g. "render-charts".
	Name string
	// Run does the work. Its arguments are those of Process.
	Run func(args []string) error
	// Failed is the exit code if Run fails; 0 stands for 1.
	Failed int
}

// listed has the names of this program's hidden commands once Dispatch has been called. It is state
// of the process: a program that starts itself without having called Dispatch would start the whole
// program again, which would start itself again, without end.
var listed atomic.Pointer[[]string]

// Dispatch runs the hidden command that this process was started for and returns its exit code. ok
// is false if the process is the program itself. Call it first in main, with all hidden commands of
// the program.
func Dispatch(commands ...Command) (code int, ok bool) {
	return dispatch(os.Args, os.Stderr, commands)
}

func dispatch(args []string, stderr io.Writer, commands []Command) (code int, ok bool) {
	names := make([]string, len(commands))
	for i := range commands {
		names[i] = commands[i].Name
	}
	listed.Store(&names)
	if len(args) < 2 || args[1] != marker {
		return 0, false
	}
	err := errors.New("no hidden command is named")
	failed := 1
	if len(args) > 2 {
		err = unknown(args[2], names)
		for _, c := range commands {
			if c.Name == args[2] {
				err, failed = c.Run(args[3:]), max(c.Failed, 1)
				break
			}
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err) // the exit code says it too
		return failed, true
	}
	return 0, true
}

func unknown(name string, names []string) error {
	return fmt.Errorf("this program has no hidden command %q, only: %s; add the command to the list that its main (in tests: TestMain) gives to hidden.Dispatch", name, strings.Join(names, ", "))
}

// Process returns the command that runs a hidden command of this program in another process, with
// an empty environment. The process has the hidden command's name in lists of processes. A hidden
// command that this program does not list is an error: no process starts.
func Process(name string, args ...string) (*exec.Cmd, error) {
	names := listed.Load()
	if names == nil {
		return nil, fmt.Errorf("this program does not dispatch hidden commands, so that %q cannot run: its main (in tests: TestMain) must call hidden.Dispatch first", name)
	}
	known := false
	for _, one := range *names {
		known = known || one == name
	}
	if !known {
		return nil, unknown(name, *names)
	}
	self := "/proc/self/exe" // this program, even if its file was replaced or removed since it started
	if runtime.GOOS != "linux" {
		var err error
		if self, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{strings.ReplaceAll(name, " ", "-"), marker, name}, args...)
	cmd.Env = []string{} // not nil, which would be all of this program's
	return cmd, nil
}
