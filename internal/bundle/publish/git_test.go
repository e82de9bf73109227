package publish

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

func files(paths ...string) []bundle.File {
	var all []bundle.File
	for _, p := range paths {
		name, content, _ := strings.Cut(p, "=")
		all = append(all, bundle.File{Path: name, Mode: 0o644, Content: []byte(content)})
	}
	return all
}

// Submodules, hooks and LFS have a message each; so has what Git itself cannot hold.
func TestGit_Check(t *testing.T) {
	for _, tc := range []struct {
		file, want string
	}{
		{".gitmodules=[submodule]", ".gitmodules: the repository has a submodule"},
		{"vendor/x/.git=gitdir: elsewhere", "vendor/x/.git: the repository has a submodule"},
		{".git/hooks/post-checkout=#!/bin/sh", ".git/hooks/post-checkout: the repository has a hook"},
		{".githooks/pre-push=#!/bin/sh", ".githooks/pre-push: the repository has a hook"},
		{"a/.GIT/config=x", "the directory of another Git repository"},
		{".gitattributes=# comment\n*.tgz filter=lfs diff=lfs", ".gitattributes:2: the repository uses Git LFS"},
		{"a/.gitattributes=* filter=run", "a/.gitattributes:1: the repository has a filter"},
		{".lfsconfig=x", ".lfsconfig: the repository uses Git LFS"},
		{"charts/a.tgz=version https://git-lfs.github.com/spec/v1\noid sha256:0", "charts/a.tgz:1: the repository uses Git LFS"},
		{"../a=x", "a path that"}, {"a\nb=x", "a path that"}, {`a"b=x`, "a path that"},
	} {
		err := CheckGit(files("ok=x", tc.file))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.file, err, tc.want)
		}
	}
	if err := CheckGit(files("hooks/a.yaml=x", ".gitignore=x", ".gitattributes=# filter=lfs\n* text", "a/values.yaml=version: 1")); err != nil {
		t.Error(err)
	}
}

// An address without a Git server refuses the push, and the error says where and why.
func TestRefused(t *testing.T) {
	server := httptest.NewServer(nil) // answers 404
	defer server.Close()
	b := &bundle.Bundle{Deployer: bundle.Helm, Files: files("a=x")}
	dir := t.TempDir()
	_, err := PublishGit(t.Context(), b, server.URL+"/aicr/a.git", "main", dir)
	if err == nil || !strings.Contains(err.Error(), "refused the push to "+server.URL) || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got %v", err)
	}
	b.Files = files("x/.gitmodules=x")
	if _, err = PublishGit(t.Context(), b, server.URL+"/aicr/a.git", "main", dir); err == nil || !strings.Contains(err.Error(), "submodule") {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
