package podrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
)

// spec is the container as a process.
func (w *worker) spec(ctx context.Context, c *corev1.Container) (spec host.ProcessSpec, m *mounts, err error) {
	if m, err = w.mount(ctx, c); err != nil {
		return spec, nil, err
	}
	env, err := w.environment(ctx, c)
	if err != nil {
		return spec, nil, err
	}
	program, _ := w.r.program(c) // unsupported has seen that it is there
	if program.Unpacked != nil {
		spec, err = w.imageSpec(c, program, m, env)
	} else {
		spec, err = w.fileSpec(c, program, m, env)
	}
	spec.Name, spec.Log = "pod "+w.name(), w.log
	if c != &w.pod.Spec.Containers[0] {
		spec.Name, spec.Log = spec.Name+" (init container "+c.Name+")", w.logOf(c.Name)
	}
	return spec, m, err
}

// fileSpec is a container as a process of a file of this machine, in the machine's file system.
func (w *worker) fileSpec(c *corev1.Container, program infra.Program, m *mounts, env map[string]string) (host.ProcessSpec, error) {
	var args []string
	if len(c.Command) > 1 {
		args = append(args, c.Command[1:]...)
	}
	args = append(args, c.Args...)
	for i := range args {
		args[i] = m.within(expand(args[i], env))
	}
	for name, value := range env {
		env[name] = m.within(value)
	}
	if _, set := env["KUBECONFIG"]; !set && m.token != "" {
		env["KUBECONFIG"] = m.kubeconfig
	}
	args, err := w.listens.place(w.r.Ports, program.Listens, args)
	if err == nil {
		args, err = w.listens.configure(w.r.Ports, program, m, m.root, args)
	}
	if err != nil {
		return host.ProcessSpec{}, err
	}
	args = append(slices.Clone(program.Args), args...)
	workDir, err := m.workDir(c.WorkingDir)
	if err != nil {
		return host.ProcessSpec{}, err
	}
	home := filepath.Join(w.dir, "home")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.MkdirAll(w.overlay(), 0o700)); err != nil {
		return host.ProcessSpec{}, err
	}
	return host.ProcessSpec{Path: program.Path, Args: args, Env: list(env), Dir: home, WorkDir: workDir, Ends: true, Alone: true, Sandbox: w.sandbox(program.Path, m, c)}, nil
}
