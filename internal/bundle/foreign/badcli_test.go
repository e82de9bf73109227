package foreign

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// script is a program of this text.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aicr")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A CLI for another CPU is called that, and not a format error.
func TestNewExec_OtherCPU(t *testing.T) {
	if runtime.GOOS != "linux" {
		testskip.Missing(t, "programs of this system have another format")
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	header := append([]byte{}, self[:64]...)
	const machine, sparc = 18, 43 // e_machine, and a CPU that no test runs on
	header[machine], header[machine+1] = sparc, 0
	path := filepath.Join(t.TempDir(), "aicr")
	if err := os.WriteFile(path, header, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = NewExec(t.Context(), path, "", os.LookupEnv)
	if want := "it is a program for linux on sparcv9, which this machine cannot run: it is linux/" + runtime.GOARCH; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := os.WriteFile(path, []byte("no program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err = NewExec(t.Context(), path, "", os.LookupEnv); err == nil || !strings.Contains(err.Error(), "it is neither a program nor a script") {
		t.Errorf("a text that is no script: %v", err)
	}
}

// A CLI that hangs when it is asked for its version is asked once, and ended.
func TestNewExec_Hangs(t *testing.T) {
	e, err := NewExec(t.Context(), script(t, "echo v1.2.3\n"), "", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	e.path = script(t, `[ "$1" = --version ] && echo v1.2.3 && exit 0`+"\necho waiting; exec sleep 60\n")
	err = e.askVersion(t.Context(), time.Second)
	for _, want := range []string{"ask AICR's CLI for its version", "it did not end within 1s, and was ended", "waiting"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A CLI may write only below its own directory, where root keeps its rights. One that needs more is
// told so.
func TestExec_WritesOutside(t *testing.T) {
	if strings.HasPrefix(sandbox.Support(), "none") {
		testskip.Missing(t, "the kernel has no Landlock: %s", sandbox.Support())
	}
	outside := filepath.Join(t.TempDir(), "outside")
	for name, text := range map[string]string{
		"an absolute path": "echo x > " + outside + " || exit 4",
		"the one above":    "echo x > ../outside || exit 4",
	} {
		t.Run(name, func(t *testing.T) {
			e, err := NewExec(t.Context(), script(t, `[ "$1" = version ] && echo v1.2.3 && exit 0`+"\necho x > own\nmkdir -m 555 d && { [ $(id -u) != 0 ] || echo x > d/own || exit 5; }\n"+text+"\n"), "", os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "bundler")
			d := mustDeployer(t, bundle.Helm)
			_, _, _, err = e.Bundle(t.Context(), d, ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, d.Name()), dir)
			if want := "It may write only below its own directory, " + dir; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "exit status 4") {
				t.Errorf("got %v, want %q", err, want)
			}
			for _, path := range []string{outside, filepath.Join(filepath.Dir(dir), "outside")} {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("it wrote %s", path)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "own")); err != nil {
				t.Errorf("it cannot write in its own directory: %v", err)
			}
		})
	}
}
