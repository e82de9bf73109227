package gitserver

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// serve starts a server and gives its address and directory.
func serve(t *testing.T) (url, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "git")
	s, err := New(t.Context(), dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL, dir
}

// client runs git as a person would, without the settings of this machine.
func client(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "NO_PROXY=127.0.0.1", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := client(t, dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

// repository makes a clone with one commit of one file.
func repository(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, dir, "init", "--quiet")
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "add", "file")
	must(t, dir, "commit", "--quiet", "-m", "one")
	return dir
}

// A push makes the repository, and a clone has what was pushed, whole or shallow.
func TestPushAndClone(t *testing.T) {
	url, _ := serve(t)
	from := repository(t, "hello")
	repo := url + "/aicr/eks-training.git"
	if out, err := client(t, from, "ls-remote", repo); err == nil || !strings.Contains(out, "not found") {
		t.Errorf("a repository that nobody pushed: %v %s", err, out)
	}
	must(t, from, "push", "--quiet", repo, "main")
	for _, args := range [][]string{{"clone", "--quiet"}, {"clone", "--quiet", "--depth", "1"}} {
		to := filepath.Join(t.TempDir(), "clone")
		must(t, from, append(args, repo, to)...)
		if content, err := os.ReadFile(filepath.Join(to, "file")); err != nil || string(content) != "hello" {
			t.Errorf("%v: %q %v", args, content, err)
		}
		if a, b := must(t, from, "rev-parse", "HEAD"), must(t, to, "rev-parse", "HEAD"); a != b {
			t.Errorf("pushed %s, cloned %s", a, b)
		}
	}
}

// A large push is sent in chunks, which a CGI program cannot read as they come.
func TestLargePush(t *testing.T) {
	url, _ := serve(t)
	noise := make([]byte, 3<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	must(t, repository(t, string(noise)), "push", "--quiet", url+"/a.git", "main")
}

// What was pushed stays: another history, another branch and the branch's removal are refused.
func TestRefusedPushes(t *testing.T) {
	url, _ := serve(t)
	repo, from := url+"/aicr/a.git", repository(t, "hello")
	must(t, from, "push", "--quiet", repo, "main")
	other := repository(t, "another history")
	for _, tc := range []struct {
		dir, want string
		args      []string
	}{
		{other, "non-fast-forward", []string{"push", "--force", repo, "main"}},
		{from, "hidden ref", []string{"push", repo, "main:other"}},
		{from, "deletion prohibited", []string{"push", repo, ":main"}},
	} {
		if out, err := client(t, tc.dir, tc.args...); err == nil || !strings.Contains(out, tc.want) {
			t.Errorf("git %v: %v, want %q in:\n%s", tc.args, err, tc.want, out)
		}
	}
}

// No hook of the server's repository runs, even if there is one.
func TestNoHooks(t *testing.T) {
	url, dir := serve(t)
	repo, from := url+"/aicr/a.git", repository(t, "hello")
	must(t, from, "push", "--quiet", repo, "main")
	hooks := filepath.Join(dir, "aicr", "a.git", "hooks")
	if _, err := os.Stat(hooks); err == nil {
		t.Error("a new repository has hooks")
	}
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"pre-receive", "update", "post-receive", "post-update"} {
		if err := os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\ntouch "+trace+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must(t, from, "commit", "--quiet", "--allow-empty", "-m", "two")
	must(t, from, "push", "--quiet", repo, "main")
	if _, err := os.Stat(trace); err == nil {
		t.Error("a hook ran")
	}
}

// Nothing but the smart protocol is answered, and no path leads out of the directory.
func TestOtherRequests(t *testing.T) {
	url, _ := serve(t)
	must(t, repository(t, "hello"), "push", "--quiet", url+"/a.git", "main")
	for _, path := range []string{
		"/a.git/HEAD", "/a.git/config", "/a.git/info/refs", "/a.git/info/refs?service=git-upload-archive", "/a.git/objects/info/packs", "/", "/a/info/refs?service=git-upload-pack",
		"/../a.git/info/refs?service=git-receive-pack", "/x/..%2f..%2fb.git/info/refs?service=git-receive-pack", "/.git/info/refs?service=git-receive-pack",
	} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound && !strings.HasPrefix(path, "/../") {
			t.Errorf("GET %s: %s", path, resp.Status)
		}
	}
}

// A body without a length is read up to the limit, and not further.
func TestBound(t *testing.T) {
	for size, ok := range map[int]bool{10: true, maxPush + 1: false} {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/a.git/git-receive-pack", bytes.NewReader(make([]byte, size)))
		r.TransferEncoding, r.ContentLength = []string{"chunked"}, -1
		if err := bounded(httptest.NewRecorder(), r); (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// Without git, the error says so.
func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := New(t.Context(), t.TempDir(), "main"); err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v", err)
	}
}
