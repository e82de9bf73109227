package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// module is a Go module on this machine.
type module struct {
	Version string
	Dir     string
}

// downloaded finds a module at the version that the module in a directory asks for, and downloads
// it where it is missing.
func downloaded(ctx context.Context, dir, path string) (module, error) {
	var m module
	out, err := program{dir: dir, env: []string{"GOFLAGS=-mod=readonly", "GOWORK=off"}}.run(ctx, "go", "mod", "download", "-json", path)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return m, fmt.Errorf("read the output of go mod download -json %s: %w", path, err)
	}
	return m, nil
}

// part is a program that no other part of the project compiles. The stack's programs are taken from
// the stack.
type part struct {
	name   string
	module string // directory under parts/
	main   string
}

var parts = []part{
	{"kubeadm", "kubernetes", "k8s.io/kubernetes/cmd/kubeadm"},
	{"kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl"},
	{"kubelet", "kubernetes", "k8s.io/kubernetes/cmd/kubelet"},
	{"kube-proxy", "kubernetes", "k8s.io/kubernetes/cmd/kube-proxy"},
	{"ptp", "kubernetes", "github.com/containernetworking/plugins/plugins/main/ptp"},
	{"loopback", "kubernetes", "github.com/containernetworking/plugins/plugins/main/loopback"},
	{"host-local", "kubernetes", "github.com/containernetworking/plugins/plugins/ipam/host-local"},
	{"portmap", "kubernetes", "github.com/containernetworking/plugins/plugins/meta/portmap"},
	{"coredns", "addons", "./coredns"},
	{"pause", "addons", "./pause"},
	{"registry", "addons", "./registry"},
}

// cniPlugins are those that kind's base image has.
var cniPlugins = []string{"host-local", "loopback", "portmap", "ptp"}

// buildParts compiles what bin lacks, and the stack where it is not compiled yet.
func (f *fixture) buildParts(ctx context.Context, bin string) error {
	if missing := f.stack.Missing(stack.Groups()...); len(missing) > 0 {
		err := step("Compiling the stack", func() error {
			_, err := program{dir: f.source}.run(ctx, "go", "run", "github.com/nvidia/aicr-action/cmd/matrix", "stack", "build")
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, p := range parts {
		file := filepath.Join(bin, p.name)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		goTool := program{dir: filepath.Join(f.source, "parts", p.module), env: []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off"}}
		err := step("Compiling "+p.name, func() error {
			args := append([]string{"build", "-buildvcs=false", "-ldflags", f.ldflags()}, stack.CompilerFlags()...)
			if _, err := goTool.run(ctx, "go", append(args, "-o", file+".partial", p.main)...); err != nil {
				return err
			}
			return os.Rename(file+".partial", file)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ldflags gives Kubernetes' programs the version that they were built from: kubeadm refuses a
// kubelet that calls itself v0.0.0.
func (f *fixture) ldflags() string {
	version := f.stack.KubeVersion()
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	flags := "-s -w"
	for _, set := range [][2]string{{"gitVersion", version}, {"gitMajor", numbers[0]}, {"gitMinor", numbers[1]}, {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"}} {
		flags += fmt.Sprintf(" -X k8s.io/component-base/version.%s=%s", set[0], set[1])
	}
	return flags
}

// binary is where a program is, of the stack or of the fixture's own.
func (f *fixture) binary(name string) string {
	for _, p := range parts {
		if p.name == name {
			return filepath.Join(f.dir(), "bin", name)
		}
	}
	return f.stack.Bin(name)
}
