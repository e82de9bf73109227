package intake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/intake/aicrcli"
	"github.com/nvidia/aicr-action/internal/testkit/aicrclitest"
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

// around is the good double with the text of a script before each of its commands. In it, $good is the
// double.
func around(t *testing.T, text string) *Exec {
	t.Helper()
	e, err := NewExec(t.Context(), script(t, "good="+aicrclitest.InstallFor(t, aicrclitest.Good, march)+"\n"+text+"\nexec \"$good\" \"$@\"\n"), "", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A CLI that behaves in another way than the one of July, and makes a good bundle, is adapted to.
func TestExec_OtherManners(t *testing.T) {
	const pushing = `case "$*" in *oci://*) `
	for name, test := range map[string]struct {
		text  string
		lanes []string
	}{
		"prints progress":           {`printf '33%%\r\033[2K\033[32m100%%\033[0m\n' >&2; echo some warning`, []string{bundle.Helm}},
		"writes beside the bundle":  {`[ "$1" = version ] || { mkdir -p .aicr "$HOME/.config"; echo x > .aicr/state; echo x > aicr.log; echo x > "$HOME/.config/aicr"; }`, []string{bundle.FluxGit, bundle.FluxOCI}},
		"pushes to one address":     {pushing + `case "$*" in *" --repo "*) echo "Error: --repo and an oci:// output exclude each other" >&2; exit 2;; esac;; esac`, []string{bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI}},
		"needs the address":         {`[ "$1" != bundle ] || case "$*" in *" --repo "*) ;; *) exit 2;; esac`, []string{bundle.ArgoCDOCI, bundle.ArgoCDGit}},
		"names its copy in its way": {pushing + `"$good" "$@" && mv bundle bundles; exit;; esac`, []string{bundle.ArgoCDOCI}},
		"packs where it writes":     {`[ "$1" = bundle ] && { "$good" "$@" && mkdir -p bundle/blobs/sha256 && echo '{"imageLayoutVersion":"1.0.0"}' > bundle/oci-layout && echo {} | tee bundle/index.json > bundle/blobs/sha256/$(printf %064d 0); exit; }`, []string{bundle.ArgoCDOCI}},
		"attests":                   {`[ "$1" = bundle ] && { "$good" "$@" && mkdir bundle/attestations && echo {} | tee bundle/checksums.txt.sig bundle/sbom.json > bundle/attestations/bundle.jsonl; exit; }`, []string{bundle.Helm, bundle.ArgoCDHelmOCI}},
	} {
		t.Run(name, func(t *testing.T) {
			e := around(t, test.text)
			for _, lane := range test.lanes {
				b, _, err := madeBy(t, e, lane)
				if err != nil {
					t.Errorf("%s: %v", lane, err)
					continue
				}
				if len(b.Expectation.Workloads) == 0 {
					t.Errorf("%s: no workloads", lane)
				}
				if name == "packs where it writes" && strings.Contains(strings.Join(b.Expectation.Warnings, "\n"), "does not cover") {
					t.Errorf("%s: the packed image counts as part of the bundle: %q", lane, b.Expectation.Warnings)
				}
				if name == "attests" && !strings.Contains(strings.Join(b.Expectation.Warnings, "\n"), "checksums.txt does not cover attestations/bundle.jsonl") {
					t.Errorf("%s: files without a checksum go unnoticed: %q", lane, b.Expectation.Warnings)
				}
			}
		})
	}
}

// What a CLI refuses is quoted, with the first of the commands that were tried.
func TestExec_Refuses(t *testing.T) {
	for name, test := range map[string]struct{ lane, text, want string }{
		"a flag that it does not know": {bundle.ArgoCDOCI, `case "$*" in *--plain-http*) echo "flag provided but not defined: -plain-http" >&2; exit 2;; esac`, "bundle: exit status 2 (in AICR: invalid input or an unknown flag); stderr:\n  flag provided but not defined: -plain-http"},
		"every repository":             {bundle.ArgoCDOCI, `[ "$1" != bundle ] || { case "$*" in *--repo*) echo "no such repository";; *) echo other;; esac; exit 3; }`, "bundle: exit status 3 (in AICR: not found); stdout:\n  no such repository"},
		"an address":                   {bundle.Helm, `[ "$1" != bundle ] || { echo "dial tcp 192.0.2.1:443: connect: network is unreachable" >&2; exit 6; }`, "bundle: exit status 6 (in AICR: a service is unavailable); stderr:\n  dial tcp 192.0.2.1:443: connect: network is unreachable"},
		"to write":                     {bundle.Helm, `[ "$1" != bundle ] || { echo "wrote it to /srv/bundle"; exit 0; }`, "bundle exited with 0 and wrote nothing to "},
		"to write a recipe":            {bundle.Helm, `[ "$1" != recipe ] || { echo "apiVersion: x"; exit 0; }`, "recipe.yaml; stdout:\n  apiVersion: x"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := madeBy(t, around(t, test.text), test.lane); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A CLI that puts a pipe or a link to a device in the place of the recipe that it had resolved ends
// its cell: nothing waits for what never comes.
func TestExec_RecipeBecomesPipe(t *testing.T) {
	for name, put := range map[string]string{"a pipe": "mkfifo recipe.yaml", "a device": "ln -s /dev/zero recipe.yaml"} {
		t.Run(name, func(t *testing.T) {
			e, err := NewExec(t.Context(), script(t, `case "$1" in
version) echo v1.2.3 ;;
recipe) echo 'apiVersion: aicr.nvidia.com/v1alpha1' > recipe.yaml ;;
bundle) mkdir bundle; echo x > bundle/x; rm recipe.yaml; `+put+` ;;
esac
`), "", os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			d := mustDeployer(t, bundle.Helm)
			_, _, _, err = e.Bundle(t.Context(), d, ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, d.Name()), filepath.Join(t.TempDir(), "bundler"))
			if err == nil || !strings.Contains(err.Error(), "recipe.yaml is not a regular file") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A CLI that does not end costs its limit twice, in all lanes of all recipes.
func TestExec_Hangs(t *testing.T) {
	e := around(t, `[ "$1" != recipe ] || sleep 60`)
	e.Limit = 300 * time.Millisecond
	at := func(name, lane string) error {
		_, _, _, err := e.Bundle(t.Context(), mustDeployer(t, lane), ownInput(t, name).InRegistry(cellRegistry, cellRegistry, lane), filepath.Join(t.TempDir(), "bundler"))
		return err
	}
	for i, test := range []struct {
		recipe, lane, want string
		hung               int32 // afterwards
	}{
		{"kind", bundle.Helm, "it did not end within 300ms", 1},
		{"kind", bundle.ArgoCDOCI, "it did not end within 300ms", 1},
		{"eks-training", bundle.Helm, "it did not end within 300ms", 2},
		{"aks-training", bundle.Helm, "it was not run, since 2 commands of this CLI did not end in time", 2},
	} {
		if err := at(test.recipe, test.lane); err == nil || !strings.Contains(err.Error(), test.want) || e.cli.Hung.Load() != test.hung {
			t.Errorf("%d: got %v after %d commands that hang", i, err, e.cli.Hung.Load())
		}
	}
}

// A CLI is built when the first bundle is asked for, once; one that does not compile fails each cell.
func TestExec_Built(t *testing.T) {
	built := 0
	e, err := NewBuiltExec(func(context.Context) (string, error) {
		built++
		return aicrclitest.InstallFor(t, aicrclitest.Good, march), nil
	}, "", os.LookupEnv)
	if err != nil || built > 0 {
		t.Fatal(built, err)
	}
	for _, lane := range []string{bundle.Helm, bundle.FluxOCI} {
		if _, _, err := madeBy(t, e, lane); err != nil || e.Version() != "0.11.2" {
			t.Errorf("%s: version %s, %v", lane, e.Version(), err)
		}
	}
	broken, err := NewBuiltExec(func(context.Context) (string, error) { built++; return "", errors.New("undefined: nothing") }, "", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := madeBy(t, broken, bundle.Helm); err == nil || !strings.Contains(err.Error(), "undefined: nothing") {
			t.Errorf("got %v", err)
		}
	}
	if built != 2 {
		t.Errorf("built %d times, want once each", built)
	}
}

// Arguments of the user's own reach the command that they are for, and are overrides.
func TestExec_Args(t *testing.T) {
	e := around(t, `case "$1 $*" in "recipe "*--fast*) for a; do shift; [ "$a" = --fast ] || set -- "$@" "$a"; done;; recipe*) echo "without its argument" >&2; exit 2;; esac
case "$1 $*" in "bundle "*" --serial"*) for a; do shift; [ "$a" = --serial ] || set -- "$@" "$a"; done;; bundle*) echo "without its argument" >&2; exit 2;; esac`)
	file := filepath.Join(t.TempDir(), "args.yaml")
	if err := os.WriteFile(file, []byte("kind:\n  bundle: [--serial]\nother:\n  recipe: [--never]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var err error
	if e.Args, err = aicrcli.ParseArgs([]string{"recipe --fast", "@" + file}); err != nil {
		t.Fatal(err)
	}
	b, _, err := madeBy(t, e, bundle.Helm)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bundler: recipe --fast, by --aicr-args", "bundler: bundle --serial, by --aicr-args"} {
		if !slices.Contains(b.Expectation.Overrides, want) {
			t.Errorf("no override %q in %q", want, b.Expectation.Overrides)
		}
	}
}
