package aicrcli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/intake/aicrcli"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// checkedOut is a checkout of AICR as far as its CLI goes: a program of no dependencies.
func checkedOut(t *testing.T, module, program string) string {
	t.Helper()
	root := t.TempDir()
	put(t, root, map[string]string{
		"go.mod":                "module " + module + "\n\ngo 1.24\n",
		"cmd/aicr/main.go":      program,
		"recipes/registry.yaml": "",
	})
	return root
}

// put writes files below a directory.
func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMain lets a built CLI be started in its sandbox.
func TestMain(m *testing.M) {
	workers.Serve(sandbox.Hidden())
	os.Exit(m.Run())
}

const developers = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"aicr version dev\") }\n"

func TestFind(t *testing.T) {
	root := checkedOut(t, "github.com/NVIDIA/aicr", developers)
	if got, ok := aicrcli.FindCheckout(filepath.Join(root, "recipes")); !ok || got != root {
		t.Errorf("got %s, %v", got, ok)
	}
	for _, dir := range []string{filepath.Join(checkedOut(t, "github.com/nvidia/aicr-action", developers), "recipes"), t.TempDir(), filepath.Join(root, "recipes", "none")} {
		if got, ok := aicrcli.FindCheckout(dir); ok {
			t.Errorf("%s is said to be in the checkout %s", dir, got)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "cmd")); err != nil {
		t.Fatal(err)
	}
	if _, ok := aicrcli.FindCheckout(filepath.Join(root, "recipes")); ok {
		t.Error("a checkout without the CLI has one")
	}
}

// A pull request can make go.mod a link to a device, which has no end, and an archive a pipe.
func TestFind_NoFile(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"a device": func(file string) error { return os.Symlink("/dev/zero", file) },
		"a pipe":   func(file string) error { return syscall.Mkfifo(file, 0o600) },
	} {
		root := checkedOut(t, "github.com/NVIDIA/aicr", developers)
		file := filepath.Join(root, "go.mod")
		if err := errors.Join(os.Remove(file), put(file)); err != nil {
			t.Fatal(err)
		}
		if got, ok := aicrcli.FindCheckout(filepath.Join(root, "recipes")); ok {
			t.Errorf("%s: got the checkout %s", name, got)
		}
	}
}

// A CLI that was built from a checkout calls itself dev, which is a version like another.
func TestBuild(t *testing.T) {
	root, cache := checkedOut(t, "github.com/NVIDIA/aicr", developers), t.TempDir()
	path, err := aicrcli.Build(t.Context(), root, "", cache)
	if err != nil {
		t.Fatal(err)
	}
	e, err := intake.NewExec(t.Context(), path, "", os.LookupEnv)
	if err != nil || e.Version() != "dev" {
		t.Fatalf("version %v, %v", e, err)
	}
	if err := os.WriteFile(filepath.Join(root, "cmd/aicr/main.go"), []byte(strings.Replace(developers, "dev", "v1.2.3", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := aicrcli.Build(t.Context(), root, "", cache)
	if err != nil || again != path {
		t.Fatal(again, err)
	}
	if e, err = intake.NewExec(t.Context(), again, "", os.LookupEnv); err != nil || e.Version() != "1.2.3" {
		t.Errorf("after a change it is %v, %v", e, err)
	}
	if of, err := aicrcli.Build(t.Context(), root, "1a2b3c", cache); err != nil || of == path {
		t.Errorf("of a commit: %s, %v", of, err)
	}
	broken := checkedOut(t, "github.com/NVIDIA/aicr", "package main\n\nfunc main() { nothing() }\n")
	if _, err := aicrcli.Build(t.Context(), broken, "", cache); err == nil || !strings.Contains(err.Error(), "undefined: nothing") || !strings.Contains(err.Error(), broken) {
		t.Errorf("a CLI that does not compile: %v", err)
	}
	t.Setenv("PATH", "")
	if _, err := aicrcli.Build(t.Context(), root, "", cache); err == nil || !strings.Contains(err.Error(), "needs Go") {
		t.Errorf("without Go: %v", err)
	}
}

// A checkout has its own manners: a local module, a workspace, vendored modules, another owner.
func TestBuild_Manners(t *testing.T) {
	const main = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/v\"\n)\n\nfunc main() { fmt.Println(\"aicr version \" + v.V) }\n"
	const head = "module github.com/NVIDIA/aicr\n\ngo 1.24\n"
	const require = "\nrequire example.com/v v0.0.0\n"
	for name, files := range map[string]map[string]string{
		"replaced":         {"go.mod": head + require + "\nreplace example.com/v => ./v\n"},
		"in a workspace":   {"go.mod": head, "go.work": "go 1.24\n\nuse .\n\nuse ./v\n"},
		"vendored":         {"go.mod": head + require, "vendor/modules.txt": "# example.com/v v0.0.0\n## explicit; go 1.24\nexample.com/v\n", "vendor/example.com/v/v.go": "package v\n\nconst V = \"v1.2.3\"\n"},
		"of another owner": {"go.mod": head + require + "\nreplace example.com/v => ./v\n", ".git/HEAD": "no repository"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOENV", "off")
			t.Setenv("GOFLAGS", "-mod=mod")
			root := checkedOut(t, "github.com/NVIDIA/aicr", main)
			put(t, root, map[string]string{"v/go.mod": "module example.com/v\n\ngo 1.24\n", "v/v.go": "package v\n\nconst V = \"v1.2.3\"\n"})
			put(t, root, files)
			path, err := aicrcli.Build(t.Context(), root, "", t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if e, err := intake.NewExec(t.Context(), path, "", os.LookupEnv); err != nil || e.Version() != "1.2.3" {
				t.Errorf("version %v, %v", e, err)
			}
		})
	}
}

// What cannot be built is said with what to do.
func TestBuild_Fails(t *testing.T) {
	t.Setenv("GOTOOLCHAIN", "local")
	for name, tc := range map[string]struct {
		file, content string
		want          []string
	}{
		"a newer Go":    {"go.mod", "module github.com/NVIDIA/aicr\n\ngo 1.999.1\n", []string{"requires go >= 1.999.1", "set GOTOOLCHAIN=auto"}},
		"cgo":           {"cmd/aicr/main.go", "package main\n\nimport \"C\"\n\nfunc main() {}\n", []string{"build constraints exclude all Go files", "without cgo"}},
		"an error":      {"cmd/aicr/main.go", "package main\n\nfunc main() {\n\tnothing()\n}\n", []string{"cmd/aicr/main.go:4:2: undefined: nothing"}},
		"no program":    {"cmd/aicr/main.go", "package aicr\n", []string{filepath.Join("cmd", "aicr") + " is no program: its Go files are not of the package main"}},
		"a missing one": {"cmd/aicr/main.go", "package main\n\nimport _ \"example.com/none\"\n\nfunc main() {}\n", []string{"cmd/aicr/main.go:3:8: no required module provides package example.com/none"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := checkedOut(t, "github.com/NVIDIA/aicr", developers)
			put(t, root, map[string]string{tc.file: tc.content})
			_, err := aicrcli.Build(t.Context(), root, "", t.TempDir())
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

// A CLI whose checkout is what it was is not built again, and not by a job that has the cache and no Go build cache either.
func TestBuild_Kept(t *testing.T) {
	root, cache := checkedOut(t, "github.com/NVIDIA/aicr", developers), t.TempDir()
	build := func() (path string, kept bool) {
		t.Helper()
		path, err := aicrcli.Build(t.Context(), root, "", cache)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if kept = strings.HasSuffix(string(text), "marked"); !kept {
			err = os.WriteFile(path, append(text, "marked"...), 0o755) // which another build would replace
		}
		if err != nil {
			t.Fatal(err)
		}
		return path, kept
	}
	for i, want := range []bool{false, true} {
		if _, kept := build(); kept != want {
			t.Errorf("%d: kept %t, want %t", i, kept, want)
		}
	}
	put(t, root, map[string]string{"recipes/registry.yaml": "a: 1\n", "cmd/aicr/more.go": "package main\n"}) // the CLI may have recipes in it
	if _, kept := build(); kept {
		t.Error("after a change it was not built again")
	}
	put(t, root, map[string]string{"go.mod": "module github.com/NVIDIA/aicr\n\ngo 1.24\n\nreplace example.com/v => ../v\n"})
	build()
	path, _ := build()
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "inputs")); err != nil || len(text) > 0 {
		t.Errorf("a module outside of the checkout may change, and its inputs count as known: %q, %v", text, err)
	}
}

// Arguments that would change what this program relies on are refused, and so is what is no command of the CLI.
func TestParseArgs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "args.yaml")
	put(t, filepath.Dir(file), map[string]string{"args.yaml": "\"*\": {recipe: [--a=1]}\neks: {recipe: [--b, \"2 3\"]}\n", "bad.yaml": "eks: {recipe: []}\naks: {recipes: []}\n"})
	args, err := aicrcli.ParseArgs([]string{"recipe --c 4", "@" + file})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(args.Of("eks", "recipe"), "|"); got != "--c|4|--a=1|--b|2 3" || len(args.Of("eks", "bundle")) > 0 || strings.Join(args.Recipes(), ",") != "eks" {
		t.Errorf("got %s of %v", got, args.Recipes())
	}
	for value, want := range map[string]string{
		"":                     "want a command of AICR's CLI and its arguments",
		"--serial":             "want a command of AICR's CLI",
		"verify --x":           "the commands of AICR's CLI that get arguments are recipe and bundle",
		"bundle --output=/etc": "bundle: --output is a flag that matrix passes itself",
		"recipe -o x":          "write the flag with its long name",
		"bundle --":            `"--" is no flag`,
		"@none.yaml":           "there is no file none.yaml",
		"@" + filepath.Join(filepath.Dir(file), "bad.yaml"): "bad.yaml:2: ",
	} {
		if _, err := aicrcli.ParseArgs([]string{value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", value, err, want)
		}
	}
}
