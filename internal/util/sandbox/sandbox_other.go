//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
	"runtime"

	"github.com/nvidia/aicr-action/internal/util/reexec"
)

const wraps = false

// Support says what the kernel enforces: nothing, except on Linux.
func Support() string {
	if runtime.GOOS == "darwin" {
		return "none: macOS has no Landlock"
	}
	return "none: " + runtime.GOOS + " has no Landlock"
}

func become(string, []string) error { return errors.New("this system has no Landlock") }

func restrict(Profile) error { return nil }

// CanBind is false: only Linux has mount namespaces.
func CanBind() bool { return false }

// CanRoot says that only Linux gives a process another root.
func CanRoot() error {
	return errors.New("a process cannot have an image's files as its root on " + runtime.GOOS + ": only Linux has overlays")
}

func hiddenOfSystem() []reexec.Command { return nil }

func separate(*exec.Cmd) {}

func separateRoot(*exec.Cmd) {}
