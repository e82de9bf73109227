package foreign

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// checkout is a checkout of AICR as far as its CLI goes: a program of no dependencies.
func checkout(t *testing.T, module, program string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                "module " + module + "\n\ngo 1.24\n",
		"cmd/aicr/main.go":      program,
		"recipes/registry.yaml": "",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const developers = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"aicr version dev\") }\n"

func TestCheckout(t *testing.T) {
	root := checkout(t, "github.com/NVIDIA/aicr", developers)
	if got, ok := Checkout(filepath.Join(root, "recipes")); !ok || got != root {
		t.Errorf("got %s, %v", got, ok)
	}
	for _, dir := range []string{filepath.Join(checkout(t, "github.com/nvidia/aicr-action", developers), "recipes"), t.TempDir(), filepath.Join(root, "recipes", "none")} {
		if got, ok := Checkout(dir); ok {
			t.Errorf("%s is said to be in the checkout %s", dir, got)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "cmd")); err != nil {
		t.Fatal(err)
	}
	if _, ok := Checkout(filepath.Join(root, "recipes")); ok {
		t.Error("a checkout without the CLI has one")
	}
}

// A pull request can make go.mod a link to a device, which has no end, and an archive a pipe.
func TestCheckout_NoFile(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"a device": func(file string) error { return os.Symlink("/dev/zero", file) },
		"a pipe":   func(file string) error { return syscall.Mkfifo(file, 0o600) },
	} {
		root := checkout(t, "github.com/NVIDIA/aicr", developers)
		file := filepath.Join(root, "go.mod")
		if err := errors.Join(os.Remove(file), put(file)); err != nil {
			t.Fatal(err)
		}
		if got, ok := Checkout(filepath.Join(root, "recipes")); ok {
			t.Errorf("%s: got the checkout %s", name, got)
		}
	}
}

// A CLI that was built from a checkout calls itself dev, which is a version like another.
func TestBuild(t *testing.T) {
	root, cache := checkout(t, "github.com/NVIDIA/aicr", developers), t.TempDir()
	path, err := Build(t.Context(), root, "", cache)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewExec(t.Context(), path, "", os.LookupEnv)
	if err != nil || e.Version() != "dev" {
		t.Fatalf("version %v, %v", e, err)
	}
	if err := os.WriteFile(filepath.Join(root, "cmd/aicr/main.go"), []byte(strings.Replace(developers, "dev", "v1.2.3", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := Build(t.Context(), root, "", cache)
	if err != nil || again != path {
		t.Fatal(again, err)
	}
	if e, err = NewExec(t.Context(), again, "", os.LookupEnv); err != nil || e.Version() != "1.2.3" {
		t.Errorf("after a change it is %v, %v", e, err)
	}
	if of, err := Build(t.Context(), root, "1a2b3c", cache); err != nil || of == path {
		t.Errorf("of a commit: %s, %v", of, err)
	}
	broken := checkout(t, "github.com/NVIDIA/aicr", "package main\n\nfunc main() { nothing() }\n")
	if _, err := Build(t.Context(), broken, "", cache); err == nil || !strings.Contains(err.Error(), "undefined: nothing") || !strings.Contains(err.Error(), broken) {
		t.Errorf("a CLI that does not compile: %v", err)
	}
	t.Setenv("PATH", "")
	if _, err := Build(t.Context(), root, "", cache); err == nil || !strings.Contains(err.Error(), "needs Go") {
		t.Errorf("without Go: %v", err)
	}
}

func TestChecksums_AbsolutePaths(t *testing.T) {
	dir := written(t, elsewhere(t, mustDeployer(t, "argocd-oci"), ownInput(t, "kind")))
	file := filepath.Join(dir, checksumsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(prefix string) error {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "  ", "  "+prefix)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, mustDeployer(t, "argocd-oci"))
		return err
	}
	if err := write("/home/runner/work/bundle/"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte(strings.Repeat("0", 64)+"  /etc/passwd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, mustDeployer(t, "argocd-oci")); err == nil || !strings.Contains(err.Error(), "/etc/passwd has no file of the bundle at its end") {
		t.Errorf("got %v", err)
	}
}

func TestWrapper_VersionDev(t *testing.T) {
	d := mustDeployer(t, "argocd-helm-oci")
	dir := written(t, elsewhere(t, d, ownInput(t, "kind")))
	file := filepath.Join(dir, "Chart.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "version:") {
			lines[i] = `version: "dev"`
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), dir, d)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(b.warnings, "\n"), "published as 0.0.0-dev") {
		t.Errorf("it is not said: %q", b.warnings)
	}
}
