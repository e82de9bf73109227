package embedded

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/infra/gitserver"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// libraries are where programs that are not Go's have their shared libraries, and what their loader
// reads.
var libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"}

// verifyWrapper is a script of Argo CD's image that the repo-server runs for every commit, whether
// signatures matter or not: it prints what git says of the signature. Nothing here is signed, and
// then it prints nothing.
const (
	verifyWrapper = "git-verify-wrapper.sh"
	verifyNothing = "#!/bin/sh\nexit 0\n"
	shell         = "/bin/sh"
)

// forGit lets the repo-server run git, if it reads Git repositories: with a PATH on which git is the
// one program besides the stack's and a script, and without the settings of this machine and its
// user. It follows no submodules.
func (a *ArgoCD) forGit(ctx context.Context, env []string, profile *sandbox.Profile) ([]string, *sandbox.Profile, error) {
	if !a.Git {
		return env, profile, nil
	}
	git, parts, err := gitserver.Find(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("find git for Argo CD's repo-server: %w", err)
	}
	dir := a.Dir + "-programs" // which the repo-server may not write to
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make a directory for Argo CD: %w", err)
	}
	if err := os.Symlink(git, filepath.Join(dir, "git")); err != nil {
		return nil, nil, fmt.Errorf("give Argo CD git: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, verifyWrapper), []byte(verifyNothing), 0o700); err != nil {
		return nil, nil, fmt.Errorf("give Argo CD %s: %w", verifyWrapper, err)
	}
	env = append(slices.Clone(env),
		"PATH="+strings.Join(append(a.programs(), dir), string(os.PathListSeparator)),
		"ARGOCD_GIT_MODULES_ENABLED=false", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=http:https", "GIT_TEMPLATE_DIR=",
		"GIT_COMMITTER_NAME=aicr-action", "GIT_COMMITTER_EMAIL=aicr-action@localhost", // nobody asks who this machine's user is
	)
	if profile == nil {
		return env, nil, nil
	}
	all := *profile
	all.Execute = append(slices.Clone(profile.Execute), dir, git, parts, shell)
	for _, program := range []string{git, shell} {
		if loader := interpreter(program); loader != "" {
			all.Execute = append(all.Execute, loader)
		}
	}
	all.Read = append(slices.Clone(profile.Read), libraries...)
	return env, &all, nil
}

// interpreter is the program that starts a program with shared libraries; empty if it has none.
func interpreter(program string) string {
	file, err := elf.Open(program)
	if err != nil {
		return "" // not Linux
	}
	defer func() { _ = file.Close() }() // opened for reading
	for _, p := range file.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		text := make([]byte, p.Filesz)
		if _, err := p.ReadAt(text, 0); err == nil {
			return strings.TrimRight(string(text), "\x00")
		}
	}
	return ""
}
