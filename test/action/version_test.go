package action_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/tools/release"
)

// restoreCLI is a step of every job that may need AICR's CLI.
const restoreCLI = "Restore AICR's CLI"

// TestSource: the action on a branch.
func TestSource(t *testing.T) {
	r := newRunner(t, map[string]string{"recipe": "eks"})
	built := filepath.Join(t.TempDir(), "built")
	r.env = append(runnerNames(), "AICR_ACTION_CACHE="+smallStack(t), "AICR_ACTION_CACHE_TRUSTED=true", // so that there is nothing to compile but matrix
		"PATH="+goThatCopies(t, built)+":"+os.Getenv("PATH"))
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("prepare: exit code %d\n%s", code, out)
	}
	ran, code, log := r.untilRun(nil)
	if want := []string{"Restore matrix", "Restore the stack", "Set up Go", "Build from source", "Cache the stack", "Cache matrix", restoreCLI}; code != 0 || !slices.Equal(ran, want) {
		t.Errorf("exit code %d, steps %q, want %q\n%s", code, ran, want, log)
	}
	if out, err := exec.Command(r.output("find.outputs.bin"), "version").CombinedOutput(); err != nil {
		t.Errorf("matrix version: %v\n%s", err, out)
	}
	for _, test := range []struct {
		hits map[string]string
		want []string
	}{
		{map[string]string{"matrix": "true", "stack": "true"}, []string{"Restore matrix", "Restore the stack", restoreCLI}},
		{map[string]string{"stack": "true"}, []string{"Restore matrix", "Restore the stack", "Set up Go", "Build from source", "Cache matrix", restoreCLI}},
		{map[string]string{"matrix": "true"}, []string{"Restore matrix", "Restore the stack", "Set up Go", "Build from source", "Cache the stack", restoreCLI}},
	} {
		if ran, code, log := r.untilRun(test.hits); code != 0 || !slices.Equal(ran, test.want) {
			t.Errorf("cache %v: exit code %d, steps %q, want %q\n%s", test.hits, code, ran, test.want, log)
		}
	}
}

// TestInputVersion: which of the two it is, and what is refused.
func TestInputVersion(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	pinned, branch := source(t), source(t)
	content, err := release.WritePins("# pins\n", pinnedVersion, []string{digest + "  matrix_v1.2.3_linux_amd64", digest + "  stack_0123456789abcdef_linux_amd64.tar.zst", digest + "  matrix_v1.2.3_darwin_arm64"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(pinned, release.PinsFile), content)
	for _, dir := range []string{pinned, branch} {
		write(t, filepath.Join(dir, "cmd", "main.go"), "package main\n")
	}
	linux, mac, windows := []string{"RUNNER_OS=Linux", "RUNNER_ARCH=X64"}, []string{"RUNNER_OS=macOS", "RUNNER_ARCH=ARM64"}, []string{"RUNNER_OS=Windows", "RUNNER_ARCH=X64"}
	for name, test := range map[string]struct {
		source  string
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
			r.env = test.machine
			r.known["github.action_path"] = test.source
			code, out := r.prepare()
			if test.refused == nil {
				if got := r.output("find.outputs.version"); code != 0 || got != test.version {
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

// TestCacheKeys: a file of the source that changes has another key, unless it does not go into the
// program.
func TestCacheKeys(t *testing.T) {
	dir := source(t)
	key := func() string {
		t.Helper()
		r := newRunner(t, nil)
		r.env = runnerNames()
		r.known["github.action_path"] = dir
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		return r.output("find.outputs.key")
	}
	write(t, filepath.Join(dir, "cmd/main.go"), "package main\n")
	first := key()
	for _, file := range []string{"docs/ci.md", "README.md", ".github/workflows/a.yaml", "cmd/main_test.go", "internal/a/testdata/b", "bin/matrix"} {
		write(t, filepath.Join(dir, file), "x")
		if again := key(); again != first {
			t.Errorf("%s is not part of the program, and changes the key from %s to %s", file, first, again)
		}
	}
	seen := []string{first}
	for _, change := range []struct{ file, content string }{{"cmd/main.go", "package other\n"}, {"recipes/sub dir/data.yaml", "a: 1\n"}, {"docs/failures.md", "x"}, {"go.sum", "x"}, {".settings.yaml", "x"}} {
		write(t, filepath.Join(dir, change.file), change.content)
		k := key()
		if slices.Contains(seen, k) {
			t.Errorf("%s with %q: the key %s was there before", change.file, change.content, k)
		}
		seen = append(seen, k)
	}
	if err := os.Rename(filepath.Join(dir, "cmd/main.go"), filepath.Join(dir, "cmd/other.go")); err != nil {
		t.Fatal(err)
	}
	if k := key(); slices.Contains(seen, k) {
		t.Errorf("a file with another name has the same key")
	}
}

// TestCacheKeys_Files: the key's files are at least those that the compiler reads for the program.
func TestCacheKeys_Files(t *testing.T) {
	raw, err := os.ReadFile("setup/find.sh")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`find ([\w ./-]+) -type f`).FindStringSubmatch(string(raw))
	if m == nil {
		t.Fatal("setup/find.sh does not list the source's files")
	}
	counted := strings.Fields(m[1])
	top, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-deps", "-f", `{{$d := .Dir}}{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range $.EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, "./cmd/matrix").Output()
	files := strings.Fields(string(out))
	if err != nil || len(files) < 100 {
		t.Fatalf("go list: %d files, %v", len(files), err)
	}
	for _, file := range files {
		rel, err := filepath.Rel(top, file)
		if err != nil {
			t.Fatal(err)
		}
		in := slices.ContainsFunc(counted, func(part string) bool { return rel == part || strings.HasPrefix(rel, part+"/") })
		if !in || strings.HasSuffix(rel, "_test.go") || strings.Contains(rel, "/testdata/") {
			t.Errorf("%s goes into the program, and is not counted in its cache key", rel)
		}
	}
}

// TestSetup_SameSteps: two files have the steps by which the action gets matrix, and they are
// equal.
func TestSetup_SameSteps(t *testing.T) {
	shared := func(file string) []step {
		var steps []step
		for _, s := range parseAction(t, file).Runs.Steps {
			if s.Name == "Restore matrix" || len(steps) > 0 {
				steps = append(steps, s)
			}
			if s.Name == "Cache the images" {
				return steps
			}
		}
		t.Fatalf("%s has no step Cache the images", file)
		return nil
	}
	if a, b := shared("action.yml"), shared("setup/action.yml"); len(a) < 11 || !reflect.DeepEqual(a, b) {
		t.Errorf("action.yml has\n%+v\nand setup/action.yml\n%+v", a, b)
	}
}
