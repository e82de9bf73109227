package stack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// recorded is a Progress that remembers the lines.
type recorded struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorded) Begin(what string) infra.Task {
	r.add(what)
	return recordedTask{r, what}
}

func (r *recorded) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *recorded) has(line string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.lines, line)
}

type recordedTask struct {
	r    *recorded
	what string
}

func (k recordedTask) Update(detail string) { k.r.add(k.what + ": " + detail) }
func (k recordedTask) End(detail string, err error) {
	end := "done"
	if err != nil {
		end = "failed"
	}
	k.r.add(k.what + ": " + end + ", " + detail)
}

func newStack(t testing.TB, paths host.Paths) *Stack {
	t.Helper()
	s, err := NewStack(paths, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The helm lane and helmfile have the same Helm, of either major version: the one has it as a library, and the other runs
// it as a program.
func TestOneHelm(t *testing.T) {
	raw, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, compared := newStack(t, host.Paths{Root: t.TempDir()}), 0
	for _, r := range mod.Require {
		if !strings.HasPrefix(r.Mod.Path, "helm.sh/helm/") {
			continue
		}
		if compared++; s.Version(r.Mod.Path) != r.Mod.Version {
			t.Errorf("%s is %s in go.mod, and %s in kwok/stack/go.mod", r.Mod.Path, r.Mod.Version, s.Version(r.Mod.Path))
		}
	}
	if compared != 2 {
		t.Errorf("compared %d versions of Helm, want 3 and 4", compared)
	}
}

func TestNewStack(t *testing.T) {
	paths := host.Paths{Root: t.TempDir()}
	s := newStack(t, paths)
	if !strings.HasPrefix(s.Dir, paths.Stack()) || !strings.HasPrefix(s.KubeVersion(), "v1.") {
		t.Errorf("directory %s, Kubernetes %s", s.Dir, s.KubeVersion())
	}
	for _, v := range s.Versions() {
		if v.Version == "" || v.Built {
			t.Errorf("%+v: want a version, and nothing built", v)
		}
	}
	if got := len(s.Missing(s.groups...)); got != len(s.Versions()) {
		t.Errorf("%d parts missing of %d", got, len(s.Versions()))
	}
	if again := newStack(t, paths); again.Dir != s.Dir {
		t.Error("the same content has two keys")
	}
	mod := string(kwok.StackMod)
	for _, test := range []struct{ name, mod, want string }{
		{"not a go.mod", "tool (", "kwok/stack/go.mod"},
		{"no tool line", strings.Replace(mod, "\tgo.etcd.io/etcd/server/v3\n", "", 1), "etcd binary"},
		{"no version", strings.Replace(mod, "\tsigs.k8s.io/kwok v", "\texample.com/kwok v", 1), "kwok binary"},
	} {
		if _, err := NewStack(paths, []byte(test.mod), kwok.StackSum, kwok.StackSources); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := NewStack(paths, kwok.StackMod, kwok.StackSum, fstest.MapFS{"embedded/stack/x/main.go.txt": {}}); err == nil || !strings.Contains(err.Error(), "no kube-controller-manager/main.go") {
		t.Errorf("without the source of a program: %v", err)
	}
	changed := fstest.MapFS{"embedded/stack/kube-controller-manager/main.go.txt": {Data: []byte("package main\n")}}
	if other, err := NewStack(paths, kwok.StackMod, kwok.StackSum, changed); err != nil || other.Dir == s.Dir {
		t.Errorf("another source of a program: %v, or the same key: old binaries would be taken for new ones", err)
	}
	for name, pair := range map[string][2]string{
		"go.mod": {mod + "\n// changed\n", string(kwok.StackSum)}, "go.sum": {mod, string(kwok.StackSum) + "\n"},
	} {
		other, err := NewStack(paths, []byte(pair[0]), []byte(pair[1]), kwok.StackSources)
		if err != nil {
			t.Fatal(err)
		}
		if other.Dir == s.Dir {
			t.Errorf("another %s has the same key: old binaries would be taken for new ones", name)
		}
	}
}

// fakeGo puts a go command on the PATH whose `go build` runs the script; $out and $package are set
// there. Each call leaves a line in the file that is returned, with what was fetched in listed
// beside it and the niceness in nice. To fetch fails, as it does offline.
func fakeGo(t *testing.T, build string) (log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "calls")
	for _, sub := range []string{"manifests/crds", "config/crd/bases"} {
		if err := os.MkdirAll(filepath.Join(dir, "module", sub), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"crd.yaml", "kustomization.yaml"} {
			if err := os.WriteFile(filepath.Join(dir, "module", sub, name), []byte("kind: X\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	changed := filepath.Join(dir, "module", filepath.FromSlash(resumedWatches().File))
	if err := os.MkdirAll(filepath.Dir(changed), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte(resumedWatches().Old), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `#!/bin/sh
case "$1 $2" in
"list -deps") echo "$*" >> "` + dir + `/listed"; exit 1 ;;
"mod download") echo "{\"Dir\": \"` + dir + `/module\"}"; exit ;;
list*) echo "` + dir + `/module"; exit ;;
esac
nice >> "` + dir + `/nice"
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
package=$1
echo "$package" >> "` + log + `"
` + build + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return log
}

func calls(t *testing.T, log string) []string {
	t.Helper()
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

const goodBuild = `echo "go: downloading example.com/x v1.0.0"; echo "$package"; echo binary > "$out"`

func TestBuild(t *testing.T) {
	log := fakeGo(t, goodBuild)
	s, progress := newStack(t, host.Paths{Root: t.TempDir()}), &recorded{}
	for range 2 { // the second finds everything there
		if err := s.Build(t.Context(), progress, GroupControlPlane, GroupFlux); err != nil {
			t.Fatal(err)
		}
	}
	if missing := s.Missing(GroupControlPlane, GroupFlux); len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
	if got, want := len(calls(t, log)), len(GroupControlPlane.Parts())+len(GroupFlux.Parts()); got != want {
		t.Errorf("go build ran %d times, want %d", got, want)
	}
	first := "Building etcd " + s.Version("go.etcd.io/etcd/server/v3") + " (1 of 9)"
	for _, line := range []string{first, first + ": 1 modules downloaded", first + ": 1 packages compiled", first + ": done, 1 packages compiled"} {
		if !progress.has(line) {
			t.Errorf("progress lacks %q: %q", line, progress.lines)
		}
	}
	replaced, err := os.ReadFile(filepath.Join(s.Dir, "src", "kwok.mod"))
	if err != nil || !strings.HasSuffix(string(replaced), "\nreplace sigs.k8s.io/kwok => ./changed/kwok\n") {
		t.Errorf("the list by which KWOK is compiled does not have its changed source: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir, "src", "changed")); err != nil || len(left) > 0 {
		t.Errorf("copies of modules are left: %v, %v", left, err)
	}
	// While the first part is compiled, the modules of the others are downloaded.
	listed, err := os.ReadFile(filepath.Join(filepath.Dir(log), "listed"))
	if got := strings.Fields(string(listed)); err != nil || !slices.Contains(got, GroupControlPlane.Parts()[0].Package) || !slices.Contains(got, GroupFlux.Parts()[3].Package) {
		t.Errorf("fetched %q, %v; want all parts", got, err)
	}
	crds, err := os.ReadDir(s.CRDs(GroupFlux))
	if err != nil || len(crds) != 1 || crds[0].Name() != "crd.yaml" {
		t.Errorf("CRDs %v, %v", crds, err)
	}
}

// Cells that run meanwhile have deadlines, and compilers have none.
func TestBuild_Yields(t *testing.T) {
	log := fakeGo(t, goodBuild)
	mine, err := exec.Command("nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := newStack(t, host.Paths{Root: t.TempDir()}).Build(t.Context(), &recorded{}, GroupHelm); err != nil {
		t.Fatal(err)
	}
	its, err := os.ReadFile(filepath.Join(filepath.Dir(log), "nice"))
	if err != nil {
		t.Fatal(err)
	}
	own, _ := strconv.Atoi(strings.TrimSpace(string(mine)))
	if got, err := strconv.Atoi(strings.TrimSpace(string(its))); err != nil || got != min(own+10, 19) {
		t.Errorf("compiled with niceness %q, %v; this has %d", its, err, own)
	}
}

// What is there needs no modules, and without Go there is nothing to fetch them with.
func TestFetch(t *testing.T) {
	log := fakeGo(t, goodBuild)
	s := newStack(t, host.Paths{Root: t.TempDir()})
	fetched := func() string {
		raw, _ := os.ReadFile(filepath.Join(filepath.Dir(log), "listed"))
		return string(raw)
	}
	s.Fetch(t.Context(), GroupHelm, GroupFlux)
	if got := fetched(); strings.Count(got, "\n") != 1 || !strings.Contains(got, GroupHelm.Parts()[0].Package+" "+GroupFlux.Parts()[0].Package) {
		t.Errorf("fetched %q", got)
	}
	if err := s.Build(t.Context(), &recorded{}, GroupHelm); err != nil {
		t.Fatal(err)
	}
	before := fetched()
	s.Fetch(t.Context(), GroupHelm)
	t.Setenv("PATH", t.TempDir())
	s.Fetch(t.Context(), GroupFlux)
	if fetched() != before {
		t.Errorf("fetched %q again", fetched())
	}
}

func TestBuild_Failed(t *testing.T) {
	for _, test := range []struct {
		name, build string
		reason      reason.Reason
		want        []string
	}{
		{"compiler", `echo half > "$out"; echo "x.go:3:1: syntax error: unexpected }" >&2; exit 1`, reason.StackBuildFailed, []string{"build etcd", "exit status 1", "x.go:3:1: syntax error"}},
		{"killed", `echo half > "$out"; kill -9 $$`, reason.StackBuildFailed, []string{"signal: killed"}},
		{"full disk", `echo half > "$out"; echo "write out.o: no space left on device"; exit 1`, reason.NoSpace, []string{"no space left"}},
		{"a line without end", `head -c 3000000 /dev/zero | tr '\0' x; echo; exit 1`, reason.StackBuildFailed, []string{"exit status 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, progress := newStack(t, host.Paths{Root: t.TempDir()}), &recorded{}
			fakeGo(t, test.build)
			err := s.Build(t.Context(), progress, GroupControlPlane)
			if reason.Of(err) != test.reason {
				t.Fatalf("reason %q of %v, want %s", reason.Of(err), err, test.reason)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			left, err := os.ReadDir(filepath.Dir(s.Bin("x")))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			fakeGo(t, goodBuild)
			if err := s.Build(t.Context(), progress, GroupControlPlane); err != nil {
				t.Errorf("the next build: %v", err)
			}
		})
	}
}

func TestBuild_NoToolchain(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := newStack(t, host.Paths{Root: t.TempDir()})
	err := s.Build(t.Context(), &recorded{}, GroupControlPlane)
	if reason.Of(err) != reason.ToolchainMissing || !strings.Contains(err.Error(), "https://go.dev/dl") {
		t.Errorf("got %v", err)
	}
}

// Two runs that start on a fresh machine compile the stack once, not twice.
func TestConcurrentBuilds(t *testing.T) {
	log := fakeGo(t, goodBuild)
	paths, progress := host.Paths{Root: t.TempDir()}, &recorded{}
	var wg sync.WaitGroup
	for range 4 {
		s := newStack(t, paths)
		wg.Go(func() {
			if err := s.Build(t.Context(), progress, s.groups...); err != nil {
				t.Error(err)
			}
			if missing := s.Missing(s.groups...); len(missing) > 0 {
				t.Errorf("a build returned before %v was there", missing)
			}
		})
	}
	wg.Wait()
	built := calls(t, log)
	if slices.Sort(built); len(built) != len(newStack(t, paths).Versions()) || len(slices.Compact(built)) != len(newStack(t, paths).Versions()) {
		t.Errorf("go build ran for %q, want each part once", built)
	}
}

// An interrupted build is neither a failed nor a finished one.
func TestBuild_Interrupted(t *testing.T) {
	dir := t.TempDir()
	fakeGo(t, "echo $$ > "+dir+`/pid; echo half > "$out"; exec sleep 1000`)
	s, waiting := newStack(t, host.Paths{Root: t.TempDir()}), &recorded{}
	why := errors.New("interrupted by a test")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- s.Build(ctx, &recorded{}, GroupControlPlane) }()
	pid := testkit.WaitNumber(t, filepath.Join(dir, "pid"))
	go func() { ended <- s.Build(ctx, waiting, GroupControlPlane) }()
	testkit.Eventually(t, "the second build to wait for the first", time.Minute, func() wait.Result {
		if !waiting.has("Waiting for another build of the stack") {
			return wait.NotYet("it does not")
		}
		return wait.Done()
	})
	cancel(why)
	for range 2 { // the one that builds and the one that waits for it
		if err := <-ended; !errors.Is(err, why) {
			t.Errorf("got %v, want the cause of the interrupt", err)
		} else if reason.Of(err) == reason.StackBuildFailed {
			t.Errorf("an interrupt counts as a failed build: %v", err)
		}
	}
	testkit.WaitGone(t, pid)
	if missing := s.Missing(GroupControlPlane); len(missing) != len(GroupControlPlane.Parts()) {
		t.Errorf("only %v is missing after an interrupt", missing)
	}
}

// Go files beside the parts list are part of the key and are laid where the go command finds them.
func TestNewOperator_Sources(t *testing.T) {
	list := func(sources map[string][]byte) *Stack {
		mod := "module github.com/cert-manager/cert-manager/programs\n\ngo 1.26\n\ntool (\n"
		for _, p := range GroupCertManager.Parts() {
			mod += "\t" + p.Package + "\n"
		}
		s, err := NewOperator(host.Paths{Root: t.TempDir()}, "cert-manager", GroupCertManager, []byte(mod+")\n\nrequire github.com/cert-manager/cert-manager v1.17.2\n"), nil, sources)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := list(map[string][]byte{"controller/main.go": []byte("package main")})
	if other := list(map[string][]byte{"controller/main.go": []byte("package other")}); one.Name() == other.Name() || one.Name() == list(nil).Name() {
		t.Error("another source has the same key")
	}
	src, err := one.writeModule()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(src, "controller", "main.go")); err != nil || string(got) != "package main" {
		t.Errorf("the source is %q, %v", got, err)
	}
}
