package publish

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// A push that the server's hook or its settings refuse has the server's words; one that is not answered
// ends.
func TestRefused_ByTheServer(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		testskip.Missing(t, "there is no git: %v", err)
	}
	repository := func(write bool) *httptest.Server {
		root := t.TempDir()
		repo := filepath.Join(root, "a.git")
		for _, args := range [][]string{{"init", "--quiet", "--bare", "--template=", repo}, {"--git-dir=" + repo, "config", "http.receivepack", map[bool]string{true: "true", false: "false"}[write]}} {
			if _, err := git(t.Context(), nil, args...); err != nil {
				t.Fatal(err)
			}
		}
		hook := filepath.Join(repo, "hooks", "pre-receive")
		if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(hook, []byte("#!/bin/sh\necho 'commits must be signed' >&2\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return httptest.NewServer(&cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}})
	}
	silence = 2 * time.Second
	t.Cleanup(func() { silence = 2 * time.Minute })
	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	for name, tc := range map[string]struct {
		server *httptest.Server
		want   []string
	}{
		"a hook":    {repository(true), []string{"the Git server refused the push to ", "commits must be signed", "pre-receive hook declined"}},
		"read-only": {repository(false), []string{"the Git server refused the push to ", "403"}},
		"silent":    {silent, []string{"the Git server does not answer the push to "}},
	} {
		_, err := PublishGit(t.Context(), &bundle.Bundle{Deployer: bundle.FluxGit, Files: files("a=x")}, tc.server.URL+"/a.git", "main", t.TempDir())
		for _, want := range append(tc.want, tc.server.URL+"/a.git") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
	close(over)
}
