package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// tryRoot is the hidden command that a process with another root becomes when it is tried.
const tryRoot = "sandbox-try-root"

// CanRoot says why no process can have another root here; nil if one can. It takes overlays, and
// root's rights or user namespaces. It is tried once.
var CanRoot = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "aicr-root")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the system's directory for such
	lower, overlay := filepath.Join(dir, "lower"), filepath.Join(dir, "overlay")
	if err := errors.Join(os.Mkdir(lower, 0o755), os.Mkdir(overlay, 0o755)); err != nil {
		return err
	}
	cmd, err := reexec.Process(tryRoot, lower, overlay)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	separateRoot(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("a process cannot have an image's files as its root here: it takes root's rights, or user namespaces with overlays (Linux 5.11; Ubuntu 24.04: sysctl kernel.apparmor_restrict_unprivileged_userns=0): %w: %.300s", err, out)
	}
	return nil
})

func hiddenOfRoot() reexec.Command {
	return reexec.Command{Name: tryRoot, Run: func(args []string) error {
		if len(args) != 2 {
			return fmt.Errorf("want two directories, got %d arguments", len(args))
		}
		return enter(&Root{Dir: args[0]}, args[1])
	}}
}

// separateRoot gives the command namespaces for another root: of mounts; of processes, so that it
// sees no other's in /proc, and all that it starts ends with it; and, unless this is root, of
// users, in which it may mount.
func separateRoot(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	if os.Geteuid() == 0 {
		return
	}
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
}

// enter gives this process the root: an overlay over the image's files, which do not change, with
// the mounts, /proc of its own processes, and the devices that every container has. What it cannot
// see from now on is every other file of the machine.
func enter(r *Root, overlays string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	dir, err := os.MkdirTemp(overlays, "root")
	if err != nil {
		return err
	}
	upper, work, at := filepath.Join(dir, "upper"), filepath.Join(dir, "work"), filepath.Join(dir, "merged")
	if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755), os.Mkdir(at, 0o755)); err != nil {
		return err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", r.Dir, upper, work)
	if os.Geteuid() != 0 || inUserNamespace() {
		options += ",userxattr"
	}
	if err := unix.Mount("overlay", at, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount an overlay over the image %s: %w", r.Dir, err)
	}
	// What comes from outside is held open, and moved to its place from inside: there a symbolic
	// link of the image leads to where it would in a container.
	var all []Mount
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"} {
		all = append(all, Mount{Source: device, Target: device, Device: true})
	}
	all = append(all, r.Mounts...)
	var from []int
	for _, m := range all {
		fd, err := unix.OpenTree(unix.AT_FDCWD, m.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("open %s: %w", m.Source, err)
		}
		defer func() { _ = unix.Close(fd) }() // the mount stays
		attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
		if !m.Device {
			attributes.Attr_set |= unix.MOUNT_ATTR_NODEV
		}
		if !m.Writable && !m.Device {
			attributes.Attr_set |= unix.MOUNT_ATTR_RDONLY
		}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attributes); err != nil {
			return fmt.Errorf("protect the mount at %s: %w", m.Target, err)
		}
		from = append(from, fd)
	}
	if err := errors.Join(unix.Chroot(at), unix.Chdir("/")); err != nil {
		return fmt.Errorf("enter the image's files: %w", err)
	}
	for i, m := range all {
		if err := m.place(from[i]); err != nil {
			return fmt.Errorf("mount %s: %w", m.Target, err)
		}
	}
	if err := os.MkdirAll("/proc", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := os.MkdirAll("/tmp", 0o1777); err != nil {
		return err
	}
	return r.finish()
}

// place moves what is held open to its target, which is made where it does not exist.
func (m Mount) place(fd int) error {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := os.MkdirAll(m.Target, 0o755); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(m.Target), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(m.Target, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return unix.MoveMount(fd, "", unix.AT_FDCWD, m.Target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// finish makes the directory in which the process starts, and the root read-only if that is asked.
func (r *Root) finish() error {
	if r.WorkDir != "" {
		if err := os.MkdirAll(r.WorkDir, 0o755); err != nil {
			return fmt.Errorf("the working directory %s: %w", r.WorkDir, err)
		}
	}
	if r.ReadOnly {
		if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
			return fmt.Errorf("make the root read-only: %w", err)
		}
	}
	if r.WorkDir != "" {
		return os.Chdir(r.WorkDir)
	}
	return nil
}

// inUserNamespace reports whether this process's users are not the machine's.
func inUserNamespace() bool {
	raw, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	var inside, outside, count uint32
	_, err = fmt.Sscan(string(raw), &inside, &outside, &count)
	return err != nil || inside != outside || count != 1<<32-1
}

// rightsInRoot are those over the files of the root: all. The mounts themselves say what is read-only, and
// of the machine's files there are only those that the mounts name.
func (p *Profile) rightsInRoot() {
	p.Execute, p.ReadWrite = append(p.Execute, "/"), append(p.ReadWrite, "/")
}

// program is the file of a command in the root: a name without a slash is looked for in PATH.
func (r *Root) program(name string) (string, error) {
	found, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("the image has no program %s: %w", name, err)
	}
	return found, nil
}
