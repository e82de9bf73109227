package action_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/tools/release"
	"github.com/nvidia/aicr-action/kwok"
)

const pinnedVersion = "v1.2.3"

// published is a release as the action sees it: a directory of files, and the action with their
// digests. matrix in it is the real program; the stack is one of a few bytes, which is enough for
// it to be installed and not for a run.
type published struct {
	dir     string
	source  string // the root of the action's repository
	archive string
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// smallStack is a cache directory with a stack in it that is complete by its files' names, and has
// nothing in them.
func smallStack(t *testing.T) string {
	t.Helper()
	cache := t.TempDir()
	s, err := stack.NewStack(host.Paths{Root: cache}, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range stack.Groups() {
		for _, part := range g.Parts() {
			write(t, s.Bin(part.Name), part.Name)
		}
	}
	for _, g := range []stack.Group{stack.GroupArgoCD, stack.GroupFlux} {
		write(t, filepath.Join(s.CRDs(g), "crd.yaml"), "kind: CustomResourceDefinition\n")
	}
	return cache
}

// here is this machine's platform.
func here() release.Platform { return release.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH} }

func publish(t *testing.T) published {
	t.Helper()
	p := published{dir: t.TempDir()}
	cache := smallStack(t)
	binary := filepath.Join(p.dir, release.Binary(pinnedVersion, here()))
	// That a program has the version of its release in it is checked where releases are packed.
	if err := os.Link(matrix(t), binary); err != nil {
		t.Fatal(err)
	}
	key, err := release.StackKey()
	if err != nil {
		t.Fatal(err)
	}
	p.archive = release.StackArchive(key, here())
	cmd := exec.Command(binary, "stack", "archive", "-o", filepath.Join(p.dir, p.archive))
	cmd.Env = append(os.Environ(), "AICR_ACTION_CACHE="+cache)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("archive the stack: %v\n%s", err, out)
	}
	for _, name := range release.Assets(pinnedVersion, key) {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err != nil {
			write(t, filepath.Join(p.dir, name), "for another platform")
		}
	}
	p.source = source(t)
	if err := release.Pin(filepath.Join(p.source, release.PinsFile), pinnedVersion, p.dir); err != nil {
		t.Fatal(err)
	}
	return p
}

// source is as much of this repository as the action needs at a release, as it is on a branch, also
// where this test runs on a release's tag.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"setup", "kwok/stack"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(part)); err != nil {
			t.Fatal(err)
		}
	}
	pins := filepath.Join(dir, release.PinsFile)
	raw, err := os.ReadFile(pins)
	if err != nil {
		t.Fatal(err)
	}
	content, err := release.WritePins(string(raw), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, pins, content)
	return dir
}

func parseAction(t *testing.T, file string) action {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return a
}

// server serves a release's files over TLS, and curl in the steps of r trusts its certificate. Each
// request's file is remembered.
func (p published) server(t *testing.T, r *runner, handle func(w http.ResponseWriter, req *http.Request, name string)) (asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var names []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, ok := strings.CutPrefix(req.URL.Path, "/nvidia/aicr-action/releases/download/"+pinnedVersion+"/")
		if !ok {
			http.NotFound(w, req)
			return
		}
		mu.Lock()
		names = append(names, name)
		mu.Unlock()
		handle(w, req, name)
	}))
	t.Cleanup(server.Close)
	certificate := filepath.Join(t.TempDir(), "server.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "GITHUB_SERVER_URL="+server.URL, "CURL_CA_BUNDLE="+certificate)
	// The pauses between curl's tries grow to 16 s; its own configuration can shorten them.
	if err := os.WriteFile(r.file(".curlrc"), []byte("retry-delay = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(names)
	}
}

func (p published) serve(w http.ResponseWriter, req *http.Request, name string) {
	http.ServeFile(w, req, filepath.Join(p.dir, name))
}

// runnerNames are what GitHub calls this machine.
func runnerNames() []string {
	system := map[string]string{"linux": "Linux", "darwin": "macOS"}[runtime.GOOS]
	arch := map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH]
	return []string{"RUNNER_OS=" + system, "RUNNER_ARCH=" + arch}
}

// pinnedRunner has run the first step of the released action.
func (p published) pinnedRunner(t *testing.T) *runner {
	t.Helper()
	r := newRunner(t, map[string]string{"recipe": "eks"})
	r.env = append(runnerNames(), "AICR_ACTION_NO_FALLBACK=1")
	r.known["github.action_path"] = p.source
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("prepare: exit code %d\n%s", code, out)
	}
	return r
}

// TestRelease: the action as it is at a release's tag.
func TestRelease(t *testing.T) {
	p := publish(t)
	binary := release.Binary(pinnedVersion, here())

	t.Run("fetched", p.testFetched)
	t.Run("a changed file in the cache", func(t *testing.T) {
		t.Parallel()
		r := p.pinnedRunner(t)
		asked := p.server(t, r, p.serve)
		r.program("touch " + r.file("owned")) // a program that another job left there
		if _, code, out := r.untilRun(map[string]string{"matrix": "true"}); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		if got := asked(); !slices.Contains(got, binary) {
			t.Errorf("downloads: %q", got)
		}
		if _, err := os.Stat(r.file("owned")); err == nil {
			t.Error("a program with another digest was started")
		}
	})

	t.Run("a connection that drops", func(t *testing.T) {
		t.Parallel()
		r := p.pinnedRunner(t)
		var once sync.Once
		p.server(t, r, func(w http.ResponseWriter, req *http.Request, name string) {
			drop := false
			once.Do(func() { drop = true })
			if drop {
				dropped(w, "half")
				return
			}
			p.serve(w, req, name)
		})
		if _, code, out := r.untilRun(nil); code != 0 {
			t.Errorf("exit code %d: it was not tried again\n%s", code, out)
		}
	})

	t.Run("a server without the release, behind a proxy", func(t *testing.T) {
		t.Parallel()
		r := newRunner(t, map[string]string{"recipe": "eks"})
		r.env, r.known["github.action_path"] = runnerNames(), p.source
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if name := filepath.Base(req.URL.Path); req.Host == "github.com" {
				p.serve(w, req, name)
				return
			}
			http.NotFound(w, req)
		}))
		t.Cleanup(server.Close)
		proxy, asked := testkit.Proxy(t, server.Listener.Addr().String())
		r.env = append(r.env, "GITHUB_SERVER_URL=https://github.example.com", "HTTPS_PROXY="+proxy, "NO_PROXY=")
		write(t, r.file(".curlrc"), "retry-delay = 1\ninsecure\n") // the certificate is not what this is about
		if _, code, out := r.untilRun(nil); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		got := slices.Compact(asked())
		if want := []string{"github.example.com:443", "github.com:443", "github.example.com:443", "github.com:443"}; !slices.Equal(got, want) {
			t.Errorf("through the proxy: %q, want each file from the server first and then from github.com", got)
		}
	})
	p.testRefused(t)
}

// testFetched: a job downloads program and stack once, and the next one has them from the cache.
func (p published) testFetched(t *testing.T) {
	binary := release.Binary(pinnedVersion, here())
	r := p.pinnedRunner(t)
	asked := p.server(t, r, p.serve)
	ran, code, out := r.untilRun(nil)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if want := []string{"Restore matrix", "Fetch the release", "Cache matrix", restoreCLI}; !slices.Equal(ran, want) {
		t.Errorf("steps %q, want %q", ran, want)
	}
	if got := asked(); !slices.Equal(got, []string{binary, p.archive}) {
		t.Errorf("downloads: %q", got)
	}
	cmd := exec.Command(r.output("find.outputs.bin"), "stack", "path", "--complete")
	cmd.Env = append(os.Environ(), "AICR_ACTION_CACHE="+r.output("find.outputs.cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the stack: %v\n%s", err, out)
	}

	// The next job gets the same directory from the cache, and downloads nothing.
	r.env = append(r.env, "GITHUB_SERVER_URL=https://127.0.0.1:1")
	if err := os.RemoveAll(r.output("find.outputs.cache")); err != nil {
		t.Fatal(err)
	}
	ran, code, out = r.untilRun(map[string]string{"matrix": "true"})
	if want := []string{"Restore matrix", "Fetch the release", restoreCLI}; code != 0 || !slices.Equal(ran, want) {
		t.Errorf("with a cache: exit code %d, steps %q, want %q\n%s", code, ran, want, out)
	}
	if _, err := os.Stat(filepath.Join(r.output("find.outputs.cache"), "stack")); err != nil {
		t.Errorf("with a cache, no stack was installed: %v", err)
	}
}

// testRefused: what is not what the action is pinned to is not used, and nothing of it stays.
func (p published) testRefused(t *testing.T) {
	binary := release.Binary(pinnedVersion, here())
	other := func(name, content string) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, req *http.Request, asked string) {
			if asked == name {
				_, _ = w.Write([]byte(content)) // curl notices an error of writing
				return
			}
			p.serve(w, req, asked)
		}
	}
	sum := sha256.Sum256([]byte("#!/bin/sh\n"))
	// The right files, in the clear: what refuses them is not their digest.
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { p.serve(w, req, strings.TrimPrefix(req.URL.Path, "/")) }))
	t.Cleanup(plain.Close)
	for _, test := range []struct {
		name   string
		handle func(http.ResponseWriter, *http.Request, string)
		want   []string
	}{
		{"another program", other(binary, "#!/bin/sh\n"), []string{binary, hex.EncodeToString(sum[:]), "pinned to", "version: source"}},
		{"another stack", other(p.archive, "an archive"), []string{p.archive, "pinned to"}},
		{"no program", func(w http.ResponseWriter, req *http.Request, _ string) { http.NotFound(w, req) }, []string{binary, "404", "could not be downloaded"}},
		{"no stack", func(w http.ResponseWriter, req *http.Request, name string) {
			if name == p.archive {
				http.NotFound(w, req)
				return
			}
			p.serve(w, req, name)
		}, []string{p.archive, "404"}},
		{"no connection lasts", func(w http.ResponseWriter, _ *http.Request, _ string) { dropped(w, "half") }, []string{binary, "could not be downloaded"}},
		{"a redirect to http", func(w http.ResponseWriter, req *http.Request, name string) {
			http.Redirect(w, req, plain.URL+"/"+name, http.StatusFound)
		}, []string{binary, "could not be downloaded"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := p.pinnedRunner(t)
			p.server(t, r, test.handle)
			ran, code, out := r.untilRun(nil)
			if code != 1 || ran[len(ran)-1] != "Fetch the release" {
				t.Fatalf("exit code %d after %q, want 1\n%s", code, ran, out)
			}
			for _, want := range append(test.want, "::error title=Release "+pinnedVersion+"::") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in the log:\n%s", want, out)
				}
			}
			for _, pattern := range []string{r.output("find.outputs.files") + "/*.partial", r.output("find.outputs.cache") + "/stack/*/bin/*"} {
				if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
					t.Errorf("left behind: %q, %v", left, err)
				}
			}
			if slices.Contains(test.want, binary) {
				if _, err := os.Stat(r.output("find.outputs.bin")); err == nil {
					t.Error("a program was left that was not downloaded whole")
				}
			}
		})
	}
}

// dropped sends a part of what it announces.
func dropped(w http.ResponseWriter, part string) {
	w.Header().Set("Content-Length", "1000000")
	_, _ = w.Write([]byte(part)) // the caller's connection ends here, which is the point
	panic(http.ErrAbortHandler)
}
