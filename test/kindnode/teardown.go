package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// down stops the private engine and removes its containers, networks, mounts and directories. It
// never touches another engine.
func (e *engine) down(ctx context.Context) error {
	var errs []error
	if e.pid() == 0 {
		e.revive(ctx)
	}
	if answers(ctx, e.socket()) == nil {
		errs = append(errs, e.removeObjects(ctx))
	}
	if pid := e.pid(); pid != 0 {
		errs = append(errs, stop(ctx, pid))
	}
	errs = append(errs, e.removeContainers(ctx), e.stopHelpers(), e.unmount())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop the private Docker engine: %w", err)
	}
	removeCgroups()
	return errors.Join(os.RemoveAll(e.dir), os.RemoveAll(e.runDir()))
}

// revive starts an engine again that was killed: it alone knows which bridges it has made. Where it
// does not start, what it would have removed is looked for below.
func (e *engine) revive(ctx context.Context) {
	if _, err := os.Stat(e.data()); err != nil {
		return
	}
	if err := e.start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kindnode: the private engine was killed and does not start again; a network bridge may stay:", err)
	}
}

// removeObjects asks the engine to remove what it has.
func (e *engine) removeObjects(ctx context.Context) error {
	out, err := docker(ctx, e.socket(), "ps", "--all", "--quiet")
	if err != nil {
		return err
	}
	if ids := strings.Fields(out); len(ids) > 0 {
		if _, err := docker(ctx, e.socket(), append([]string{"rm", "--force", "--volumes"}, ids...)...); err != nil {
			return err
		}
	}
	out, err = docker(ctx, e.socket(), "network", "ls", "--quiet", "--filter", "type=custom")
	if err != nil {
		return err
	}
	if ids := strings.Fields(out); len(ids) > 0 {
		_, err = docker(ctx, e.socket(), append([]string{"network", "rm"}, ids...)...)
	}
	return err
}

// removeCluster removes the nodes of one Kind cluster from the engine in use, as far as there are
// any.
func (e *engine) removeCluster(ctx context.Context, name string) error {
	address, err := e.address(ctx)
	if err != nil {
		return err
	}
	out, err := docker(ctx, address, "ps", "--all", "--quiet", "--filter", "label=io.x-k8s.kind.cluster="+name)
	if err != nil {
		return err
	}
	if ids := strings.Fields(out); len(ids) > 0 {
		_, err = docker(ctx, address, append([]string{"rm", "--force", "--volumes"}, ids...)...)
	}
	return err
}

// stop ends a process, first politely.
func stop(ctx context.Context, pid int) error {
	alive := func() error {
		if err := syscall.Kill(pid, 0); err != nil {
			return nil // no such process is what is waited for
		}
		return fmt.Errorf("process %d still runs", pid)
	}
	_ = syscall.Kill(pid, syscall.SIGTERM) // alive tells whether it helped
	if poll(ctx, 30*time.Second, alive) == nil {
		return nil
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	return poll(ctx, 10*time.Second, alive)
}

// removeContainers removes containers that outlived a dockerd that was killed.
func (e *engine) removeContainers(ctx context.Context) error {
	roots, err := filepath.Glob(filepath.Join(e.runDir(), "exec", "runtime-*", "moby"))
	if err != nil {
		return err
	}
	for _, root := range roots {
		out, err := program{}.run(ctx, "runc", "--root", root, "list", "--quiet")
		if err != nil {
			return err
		}
		for _, id := range strings.Fields(out) {
			if _, err := (program{}).run(ctx, "runc", "--root", root, "delete", "--force", id); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopHelpers ends the containerd and the shims of this engine: they name its run directory in
// their command lines.
func (e *engine) stopHelpers() error {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, file := range lines {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		args := strings.Split(string(line), "\x00")
		name := filepath.Base(args[0])
		ours := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, e.runDir()+"/") })
		if !ours || (!strings.HasPrefix(name, "containerd") && name != "docker-proxy") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/cmdline", &pid); err != nil {
			return err
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	}
	return nil
}

// unmount takes away what is still mounted below the engine's directories, the deepest first.
func (e *engine) unmount() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	points := mountsBelow(string(table), e.dir, e.runDir())
	for _, point := range points {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
	return nil
}

// mountsBelow lists the mount points inside directories, the latest mounted first.
func mountsBelow(mountinfo string, dirs ...string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
		if slices.ContainsFunc(dirs, func(dir string) bool { return point == dir || strings.HasPrefix(point, dir+"/") }) {
			points = append(points, point)
		}
	}
	slices.Reverse(points)
	return points
}

// removeCgroups removes the parents that dockerd made for its containers, where they are empty:
// another engine's are not.
func removeCgroups() {
	parents, err := filepath.Glob("/sys/fs/cgroup/*/docker")
	if err != nil {
		return
	}
	for _, dir := range append(parents, "/sys/fs/cgroup/docker") {
		_ = syscall.Rmdir(dir) // fails where it has children or does not exist, and then it stays
	}
}
