package gitserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
)

// A bundle that is published is cloned as it was, with modes, and has the same commit each time;
// another bundle in its place is refused, and the error quotes the server.
func TestPublish(t *testing.T) {
	url, _ := serve(t)
	b := &bundle.Bundle{Deployer: bundle.FluxGit, Files: []bundle.File{
		{Path: "a b/values.yaml", Mode: 0o644, Content: []byte("x: 1")}, {Path: "deploy.sh", Mode: 0o755, Content: []byte("#!/bin/sh\n")}, {Path: "crlf", Mode: 0o644, Content: []byte("a\r\nb\r\n")},
		{Path: ".gitattributes", Mode: 0o644, Content: []byte("* text eol=lf\n")},
	}}
	var commits []string
	for _, repo := range []string{url + "/aicr/a.git", url + "/aicr/b.git"} {
		p, err := publish.PublishGit(t.Context(), b, repo, "main", t.TempDir())
		if err != nil || !p.Is(repo, "main") || len(publish.GitCommit(p.Digest)) != 40 || !strings.HasPrefix(p.Digest, "sha1:") {
			t.Fatalf("got %+v, %v", p, err)
		}
		commits = append(commits, publish.GitCommit(p.Digest))
	}
	if commits[0] != commits[1] {
		t.Errorf("the same bundle is commit %s and %s", commits[0], commits[1])
	}
	to := filepath.Join(t.TempDir(), "clone")
	must(t, t.TempDir(), "clone", "--quiet", url+"/aicr/a.git", to)
	if got := must(t, to, "rev-parse", "HEAD"); got != commits[0] {
		t.Errorf("cloned %s, published %s", got, commits[0])
	}
	for _, f := range b.Files[:2] {
		path := filepath.Join(to, filepath.FromSlash(f.Path))
		content, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(content) != string(f.Content) || info.Mode()&0o100 != os.FileMode(f.Mode)&0o100 {
			t.Errorf("%s: %q, %v, %v", f.Path, content, err, info)
		}
	}
	if got, err := client(t, to, "cat-file", "blob", "HEAD:crlf"); err != nil || got != "a\r\nb\r\n" {
		t.Errorf("a file with the line ends of Windows became %q, %v", got, err)
	}
	b.Files = b.Files[:1]
	_, err := publish.PublishGit(t.Context(), b, url+"/aicr/a.git", "main", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "refused the push to "+url+"/aicr/a.git") || !strings.Contains(err.Error(), "rejected") {
		t.Errorf("another bundle in its place: %v", err)
	}
}
