package release

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// linkerVariable is where the programs of cmd have the version of a release.
const linkerVariable = "main.released"

// Pack makes the files of a release for one platform.
type Pack struct {
	// Version of the release, vX.Y.Z.
	Version string
	// Platform of the files; the zero value is this machine's. The stack can only be packed on its
	// own platform.
	Platform Platform
	// Dir is where the files go. It is made if it is absent.
	Dir string
	// Source is the root of this module; empty is the working directory.
	Source string
	// BinaryOnly leaves out the stack, e.g. to compare a binary with a released one.
	BinaryOnly bool
	// Progress gets what the commands say; nil is nowhere.
	Progress io.Writer
}

// Run makes the files. A binary does not depend on the machine or on the state of the checkout: the
// same source and Go version make the same file, which is why neither paths nor the commit are in
// it.
func (p Pack) Run(ctx context.Context) error {
	if err := CheckVersion(p.Version); err != nil {
		return err
	}
	native := Platform{runtime.GOOS, runtime.GOARCH}
	if p.Platform == (Platform{}) {
		p.Platform = native
	}
	if p.Platform != native && !p.BinaryOnly {
		return fmt.Errorf("pack the stack for %s on %s: a stack is packed on its own platform; leave it out, or pack it there", p.Platform, native)
	}
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the files: %w", err)
	}
	binary := filepath.Join(dir, Binary(p.Version, p.Platform))
	second := filepath.Join(dir, aicrBinary(p.Version, p.Platform))
	for _, program := range [][2]string{{binary, "./cmd/matrix"}, {second, "./cmd/aicr"}} {
		if err := p.build(ctx, program[0], program[1]); err != nil {
			return err
		}
	}
	if p.Platform != native {
		return nil
	}
	if _, err := p.look(ctx, second); err != nil {
		return err
	}
	key, err := p.look(ctx, binary)
	if err != nil || p.BinaryOnly {
		return err
	}
	if key == "" {
		return fmt.Errorf("%s does not say which stack it needs", binary)
	}
	if _, err := p.command(exec.CommandContext(ctx, binary, "stack", "build")); err != nil {
		return err
	}
	_, err = p.command(exec.CommandContext(ctx, binary, "stack", "archive", "-o", filepath.Join(dir, StackArchive(key, p.Platform))))
	return err
}

// build compiles a program.
func (p Pack) build(ctx context.Context, file, program string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X "+linkerVariable+"="+p.Version, "-o", file, program)
	build.Dir = p.Source
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.Platform.OS, "GOARCH="+p.Platform.Arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	_, err := p.command(build)
	return err
}

// look checks the version that the binary prints, since the linker does not report an unknown
// variable. It returns the key of the binary's stack, or "" for a program without one.
func (p Pack) look(ctx context.Context, binary string) (string, error) {
	out, err := p.command(exec.CommandContext(ctx, binary, "version", "-o", "json"))
	if err != nil {
		return "", err
	}
	var says struct {
		Version string `json:"version"`
		Path    string `json:"stackPath"`
	}
	if err := json.Unmarshal(out, &says); err != nil {
		return "", fmt.Errorf("read the version that %s prints: %w", binary, err)
	}
	if says.Version != p.Version {
		return "", fmt.Errorf("%s calls itself %s and was built as %s", binary, says.Version, p.Version)
	}
	if says.Path == "" {
		return "", nil
	}
	key, platform, _ := strings.Cut(filepath.Base(says.Path), "-")
	if platform != p.Platform.OS+"-"+p.Platform.Arch {
		return "", fmt.Errorf("%s requires the stack %s, and was built for %s", binary, filepath.Base(says.Path), p.Platform)
	}
	return key, nil
}

func (p Pack) command(cmd *exec.Cmd) ([]byte, error) {
	cmd.Stderr = p.Progress
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return out, nil
}
