package aicraction_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/release"
)

// TestSource: the action on a branch.
func TestSource(t *testing.T) {
	r := newRunner(t, map[string]string{"recipe": "eks"})
	r.action = unpinned(t)
	r.env = append(runnerNames(), "AICR_ACTION_CACHE="+smallStack(t)) // so that there is nothing to compile but matrix
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(out)) // the step has another home, and is not here to fill a cache
	r.env = append(r.env, "GOCACHE="+dirs[0], "GOMODCACHE="+dirs[1], "GOPATH="+dirs[2])
	if code, out := r.do("prepare"); code != 0 {
		t.Fatalf("prepare: exit code %d\n%s", code, out)
	}
	ran, code, log := r.untilRun(nil)
	if want := []string{"Restore matrix", "Restore the stack", "Set up Go", "Build from source", "Cache the stack", "Cache matrix"}; code != 0 || !slices.Equal(ran, want) {
		t.Errorf("exit code %d, steps %q, want %q\n%s", code, ran, want, log)
	}
	if out, err := exec.Command(r.output("prepare.outputs.bin"), "version").CombinedOutput(); err != nil {
		t.Errorf("matrix version: %v\n%s", err, out)
	}
	for _, test := range []struct {
		hits map[string]string
		want []string
	}{
		{map[string]string{"matrix": "true", "stack": "true"}, []string{"Restore matrix", "Restore the stack"}},
		{map[string]string{"stack": "true"}, []string{"Restore matrix", "Restore the stack", "Set up Go", "Build from source", "Cache matrix"}},
		{map[string]string{"matrix": "true"}, []string{"Restore matrix", "Restore the stack", "Set up Go", "Build from source", "Cache the stack"}},
	} {
		if ran, code, log := r.untilRun(test.hits); code != 0 || !slices.Equal(ran, test.want) {
			t.Errorf("cache %v: exit code %d, steps %q, want %q\n%s", test.hits, code, ran, test.want, log)
		}
	}
}

// TestInputVersion: which of the two it is, and what is refused.
func TestInputVersion(t *testing.T) {
	raw, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("ab", 32)
	content, err := release.WritePins(string(raw), pinnedVersion, []string{digest + "  matrix_v1.2.3_linux_amd64", digest + "  stack_0123456789abcdef_linux_amd64.tar.zst", digest + "  matrix_v1.2.3_darwin_arm64"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "action.yml")
	write(t, file, content)
	pinned, branch := parseAction(t, file), unpinned(t)
	linux, mac, windows := []string{"RUNNER_OS=Linux", "RUNNER_ARCH=X64"}, []string{"RUNNER_OS=macOS", "RUNNER_ARCH=ARM64"}, []string{"RUNNER_OS=Windows", "RUNNER_ARCH=X64"}
	for name, test := range map[string]struct {
		action  action
		machine []string
		input   string
		version string // what the prepare step makes of it
		refused []string
	}{
		"a release, empty":             {pinned, linux, "", pinnedVersion, nil},
		"a release, its own version":   {pinned, linux, pinnedVersion, pinnedVersion, nil},
		"a release, from source":       {pinned, linux, "source", "", nil},
		"a release, another version":   {pinned, linux, "v1.2.4", "", []string{"v1.2.4", "this action is v1.2.3", "uses: nvidia/aicr-action@v1.2.4"}},
		"a release, half its files":    {pinned, mac, "", "", []string{"macOS-ARM64", "version: source"}},
		"a release, another system":    {pinned, windows, "", "", []string{"Windows-X64", "version: source"}},
		"another system, from source":  {pinned, windows, "source", "", nil},
		"a branch, empty":              {branch, linux, "", "", nil},
		"a branch, from source":        {branch, windows, "source", "", nil},
		"a branch, a version":          {branch, linux, "v1.2.3", "", []string{"from a branch", "uses: nvidia/aicr-action@v1.2.3"}},
		"a tag that moves":             {pinned, linux, "v1", "", []string{"source, a version such as v1.2.3, or nothing"}},
		"a version without its letter": {pinned, linux, "1.2.3", "", []string{"source, a version such as v1.2.3, or nothing"}},
		"a line too many":              {pinned, linux, "source\nv1.2.3", "", []string{"source, a version such as v1.2.3, or nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, map[string]string{"version": test.input})
			r.action, r.env = test.action, test.machine
			code, out := r.do("prepare")
			if test.refused == nil {
				if got := r.output("prepare.outputs.version"); code != 0 || got != test.version {
					t.Errorf("exit code %d, version %q, want %q\n%s", code, got, test.version, out)
				}
				return
			}
			if code != 2 {
				t.Errorf("exit code %d, want 2\n%s", code, out)
			}
			for _, want := range append(test.refused, "::error title=Input version::") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in %q", want, out)
				}
			}
		})
	}
}

// TestCacheKeys: a file of the source that changes, and a release with other files, have other keys.
func TestCacheKeys(t *testing.T) {
	source := t.TempDir()
	if err := os.CopyFS(filepath.Join(source, "kwok", "stack"), os.DirFS("kwok/stack")); err != nil {
		t.Fatal(err)
	}
	key := func(a action) string {
		t.Helper()
		r := newRunner(t, nil)
		r.action, r.env = a, append(runnerNames(), "GITHUB_ACTION_PATH="+source)
		if code, out := r.do("prepare"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		return r.output("prepare.outputs.key")
	}
	branch := unpinned(t)
	first := key(branch)
	if again := key(branch); again != first {
		t.Errorf("keys of the same source: %s, %s", first, again)
	}
	seen := []string{first}
	for _, change := range []struct{ file, content string }{{"main.go", "package main\n"}, {"main.go", "package other\n"}, {"sub dir/data.yaml", "a: 1\n"}} {
		write(t, filepath.Join(source, change.file), change.content)
		k := key(branch)
		if slices.Contains(seen, k) {
			t.Errorf("%s with %q: the key %s was there before", change.file, change.content, k)
		}
		seen = append(seen, k)
	}
	if err := os.Rename(filepath.Join(source, "main.go"), filepath.Join(source, "other.go")); err != nil {
		t.Fatal(err)
	}
	if k := key(branch); slices.Contains(seen, k) {
		t.Errorf("a file with another name has the same key")
	}
}
