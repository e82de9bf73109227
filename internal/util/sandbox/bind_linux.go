package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// tryBind is the hidden command that tries what Binds take, in the directory that is its argument.
const tryBind = "sandbox-try-bind"

// CanBind reports whether a process can be started that sees directories elsewhere (Profile.Binds):
// as root, with Landlock, and a kernel that has overlays. It is tried once.
var CanBind = sync.OnceValue(func() bool {
	if !available() || os.Geteuid() != 0 {
		return false
	}
	dir, err := os.MkdirTemp("", "aicr-bind")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the system's directory for such
	for _, name := range []string{"source", "place", "overlay"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return false
		}
	}
	cmd, err := reexec.Process(tryBind, dir)
	if err != nil {
		return false // Wrap gives the error
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	return cmd.Run() == nil
})

func hiddenOfSystem() []reexec.Command {
	return []reexec.Command{hiddenOfRoot(), {Name: tryBind, Run: func(args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("want a directory, got %d arguments", len(args))
		}
		dir := args[0]
		target := filepath.Join(dir, "place", "a", "b")
		if err := bind(Profile{Binds: []Bind{{filepath.Join(dir, "source"), target}}, Overlay: filepath.Join(dir, "overlay")}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "source", "file"), nil, 0o600); err != nil {
			return err
		}
		_, err := os.Stat(filepath.Join(target, "file"))
		return err
	}}}
}

// separate gives the command a mount namespace, in which bind changes nothing of this process's.
func separate(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNS
}

// bind mounts each source at its target. It creates a missing target in an overlay over the
// existing directories, so that the machine's directories do not change: the overlay and the mounts
// belong to this process, and the kernel removes them when it exits.
func bind(p Profile) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	for _, b := range p.Binds {
		target, err := place(b.Target, p.Overlay)
		if err != nil {
			return err
		}
		if err := syscall.Mount(b.Source, target, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s at %s: %w", b.Source, target, err)
		}
	}
	return nil
}

// place makes sure that a directory exists, to this process, and gives its path without links.
func place(target, overlays string) (string, error) {
	above, missing := filepath.Clean(target), ""
	for {
		real, err := filepath.EvalSymlinks(above)
		if err == nil {
			above = real
			break
		}
		if !errors.Is(err, os.ErrNotExist) || above == "/" {
			return "", err
		}
		above, missing = filepath.Dir(above), filepath.Join(filepath.Base(above), missing)
	}
	if missing == "" {
		return above, nil
	}
	dir, err := os.MkdirTemp(overlays, "overlay")
	if err != nil {
		return "", err
	}
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755)); err != nil {
		return "", err
	}
	if err := syscall.Mount("overlay", above, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", above, upper, work)); err != nil {
		return "", fmt.Errorf("mount an overlay over %s: %w", above, err)
	}
	whole := filepath.Join(above, missing)
	return whole, os.MkdirAll(whole, 0o755)
}
