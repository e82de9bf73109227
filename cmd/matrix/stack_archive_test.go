package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

func TestStackArchive(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	s, err := stack.NewStack(host.Paths{Root: from}, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file string) {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range stack.Groups() {
		for _, p := range g.Parts() {
			write(s.Bin(p.Name))
		}
	}
	for _, g := range []stack.Group{stack.GroupArgoCD, stack.GroupFlux} {
		write(filepath.Join(s.CRDs(g), "crd.yaml"))
	}
	t.Setenv("PATH", t.TempDir()) // nothing can be compiled
	file := filepath.Join(t.TempDir(), "stack.tar.zst")
	packed := invokeIn(t.Context(), t, from, nil, "stack", "archive", "--to", file)
	packed.want(t, 0)
	digest, name, _ := strings.Cut(strings.TrimSpace(packed.stdout), "  ")
	if len(digest) != 64 || name != file {
		t.Fatalf("stdout %q, want a line as sha256sum prints it", packed.stdout)
	}
	invokeIn(t.Context(), t, to, nil, "stack", "path", "--complete").want(t, 11, "not complete", "matrix stack install")
	installed := invokeIn(t.Context(), t, to, nil, "stack", "install", file, "--sha256", digest)
	installed.want(t, 0, "Installing the stack")
	for _, verb := range [][]string{{"stack", "path", "--complete"}, {"stack", "build"}} {
		r := invokeIn(t.Context(), t, to, nil, verb...)
		if r.want(t, 0); r.stdout != installed.stdout || r.stdout == "" {
			t.Errorf("matrix %s prints %q, and install printed %q", strings.Join(verb, " "), r.stdout, installed.stdout)
		}
	}
}

func TestStackArchiveBadInput(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"archive without a file":        {[]string{"archive"}, []string{"--to"}},
		"archive of nothing":            {[]string{"archive", "-o", absent}, []string{"not complete", "matrix stack build"}},
		"install without a file":        {[]string{"install"}, []string{"matrix stack install --help"}},
		"install of two files":          {[]string{"install", absent, absent}, []string{"matrix stack install --help"}},
		"install of an absent file":     {[]string{"install", absent}, []string{absent}},
		"install with half a digest":    {[]string{"install", absent, "--sha256", "abcd"}, []string{"--sha256", "64"}},
		"install with an empty digest":  {[]string{"install", absent, "--sha256", ""}, []string{"--sha256", "64"}},
		"install with words for digest": {[]string{"install", absent, "--sha256", strings.Repeat("xy", 32)}, []string{"--sha256", "hexadecimal"}},
		"install of a directory":        {[]string{"install", t.TempDir()}, []string{"install"}},
		"install of something else":     {[]string{"install", "../../go.mod"}, []string{"go.mod", "no archive of a stack"}},
		"install with another digest":   {[]string{"install", "../../go.mod", "--sha256", strings.Repeat("ab", 32)}, []string{"go.mod", "download it again"}},
	} {
		t.Run(name, func(t *testing.T) {
			code := 2
			if name == "install of a directory" {
				code = 11 // it cannot be read
			}
			invoke(t, nil, append([]string{"stack"}, tc.args...)...).want(t, code, tc.want...)
		})
	}
	if _, err := os.Stat(absent); err == nil {
		t.Errorf("%s was written", absent)
	}
}
