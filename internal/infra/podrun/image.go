package podrun

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// standardPath is what a container has where its image names no PATH.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// imageSpec is a container as a process that has the files of its image as its root, and its mounts
// at their own paths. Nothing in its arguments and variables is changed.
func (w *worker) imageSpec(c *corev1.Container, program infra.Program, m *mounts, env map[string]string) (host.ProcessSpec, error) {
	u := program.Unpacked
	all := map[string]string{"PATH": standardPath, "HOME": homeOf(u), "TMPDIR": "/tmp"}
	for _, e := range u.Env {
		if name, value, ok := strings.Cut(e, "="); ok {
			all[name] = value
		}
	}
	maps.Copy(all, env)
	command := commandOf(u, c)
	for i := range command {
		command[i] = expand(command[i], all)
	}
	args, err := w.listens.place(w.r.Ports, program.Listens, command[1:]) // refused has seen that there is one
	if err == nil {
		args, err = w.listens.configure(w.r.Ports, program, m, "", args)
	}
	if err != nil {
		return host.ProcessSpec{}, err
	}
	args = slices.Concat(program.Args, args)
	home := filepath.Join(w.dir, "home")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.MkdirAll(w.overlay(), 0o700)); err != nil {
		return host.ProcessSpec{}, err
	}
	return host.ProcessSpec{Path: command[0], Args: args, Env: list(all), Dir: home, Ends: true, Sandbox: w.imageSandbox(c, u, m)}, nil
}

// commandOf is what a container runs: its command in place of the image's entrypoint, and its args
// in place of the image's, which go with the entrypoint only.
func commandOf(u *infra.Unpacked, c *corev1.Container) []string {
	switch {
	case len(c.Command) > 0:
		return slices.Concat(c.Command, c.Args)
	case len(c.Args) > 0:
		return slices.Concat(u.Entrypoint, c.Args)
	}
	return slices.Concat(u.Entrypoint, u.Cmd)
}

// homeOf is the directory of the image's user, whom the process does not become.
func homeOf(u *infra.Unpacked) string {
	if asRoot(u.User) {
		return "/root"
	}
	return "/"
}

func asRoot(user string) bool {
	name, _, _ := strings.Cut(user, ":")
	return name == "" || name == "0" || name == "root"
}

// imageSandbox has the paths of the image in place of the machine's.
func (w *worker) imageSandbox(c *corev1.Container, u *infra.Unpacked, m *mounts) *sandbox.Profile {
	p := w.sandbox("", m, c)
	if p == nil {
		p = &sandbox.Profile{}
		if port, err := strconv.Atoi(w.r.server.Port()); err == nil {
			p.Connect = []int{port}
		}
	}
	p.Read, p.ReadWrite, p.Execute, p.Binds, p.Overlay = nil, nil, nil, nil, w.overlay()
	s := c.SecurityContext
	p.Root = &sandbox.Root{Dir: u.Root, WorkDir: cmp.Or(c.WorkingDir, u.WorkDir), ReadOnly: s != nil && s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem}
	for _, file := range []string{"/etc/hosts", "/etc/resolv.conf"} { // which a kubelet makes
		if _, err := os.Stat(file); err == nil {
			p.Root.Mounts = append(p.Root.Mounts, sandbox.Mount{Source: file, Target: file})
		}
	}
	for _, vm := range c.VolumeMounts {
		at := path.Clean("/" + vm.MountPath)
		p.Root.Mounts = append(p.Root.Mounts, sandbox.Mount{Source: filepath.Join(m.root, at), Target: at, Writable: volume(w.pod, vm.Name).EmptyDir != nil && !vm.ReadOnly})
	}
	for _, file := range m.made {
		p.Root.Mounts = append(p.Root.Mounts, sandbox.Mount{Source: filepath.Join(m.root, file), Target: file})
	}
	slices.SortStableFunc(p.Root.Mounts, func(a, b sandbox.Mount) int { return cmp.Compare(len(a.Target), len(b.Target)) }) // one may be in another
	return p
}

// refused says why a kubelet would not start a container of an unpacked image, or why no process
// can stand for it here; empty if it can.
func refused(p *corev1.Pod, c *corev1.Container, u *infra.Unpacked) string {
	if len(commandOf(u, c)) == 0 {
		return "neither its image " + c.Image + " nor the container names a command (entrypoint)"
	}
	var privileged, nonRoot *bool
	var user *int64
	if s := p.Spec.SecurityContext; s != nil {
		nonRoot, user = s.RunAsNonRoot, s.RunAsUser
	}
	if s := c.SecurityContext; s != nil {
		privileged, nonRoot, user = s.Privileged, cmp.Or(s.RunAsNonRoot, nonRoot), cmp.Or(s.RunAsUser, user)
	}
	if privileged != nil && *privileged {
		return "it is to be privileged, and a process here has no more rights than its sandbox"
	}
	if nonRoot == nil || !*nonRoot {
		return ""
	}
	name, _, _ := strings.Cut(u.User, ":")
	switch _, err := strconv.Atoi(name); {
	case user != nil && *user == 0:
		return "it is to run as root (runAsUser: 0), and runAsNonRoot forbids that"
	case user != nil:
	case asRoot(u.User):
		return "its image " + c.Image + " runs as root, and runAsNonRoot forbids that"
	case err != nil:
		return fmt.Sprintf("its image %s has the user %q, which is no number, so that a kubelet cannot tell that it is not root (runAsNonRoot)", c.Image, name)
	}
	return ""
}
