package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestContentWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("binary"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := content{
		"/usr/local/bin/x": {file: file, mode: 0o755}, "/usr/local/bin/y": {link: "/usr/local/bin/x"}, "/etc/passwd": {text: "root", mode: 0o644},
		"/home/argocd": {dir: true, mode: 0o750, own: 999}, "/home/argocd/.keep": {text: "", mode: 0o600}, "/tmp": {dir: true, mode: 0o1777},
	}
	var once, again bytes.Buffer
	if err := errors.Join(c.write(&once), c.write(&again)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(once.Bytes(), again.Bytes()) {
		t.Error("the same content gave two layers")
	}
	got := map[string]*tar.Header{}
	var order []string
	for reader := tar.NewReader(&once); ; {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = h
		order = append(order, h.Name)
	}
	for name, want := range map[string]tar.Header{
		"usr/": {Mode: 0o755, Typeflag: tar.TypeDir}, "usr/local/bin/x": {Mode: 0o755, Typeflag: tar.TypeReg, Size: 6},
		"usr/local/bin/y": {Mode: 0o777, Typeflag: tar.TypeSymlink, Linkname: "/usr/local/bin/x"}, "home/argocd/": {Mode: 0o750, Typeflag: tar.TypeDir, Uid: 999, Gid: 999},
		"tmp/": {Mode: 0o1777, Typeflag: tar.TypeDir}, "etc/passwd": {Mode: 0o644, Typeflag: tar.TypeReg, Size: 4},
	} {
		h := got[name]
		if h == nil || h.Mode != want.Mode || h.Typeflag != want.Typeflag || h.Linkname != want.Linkname || h.Uid != want.Uid || h.Gid != want.Gid || h.Size != want.Size {
			t.Errorf("%s: got %+v", name, h)
		}
	}
	if slices.Index(order, "home/argocd/") > slices.Index(order, "home/argocd/.keep") {
		t.Errorf("a directory comes after its files: %v", order)
	}
}

// The names in an archive are those of the manifests, letter for letter: containerd keeps an image
// under what it reads there.
func TestArchiveKeepsNames(t *testing.T) {
	dir := t.TempDir()
	names := []string{"docker.io/library/registry:3", "ghcr.io/fluxcd/source-controller:v1", "localhost/aicr-action/kindnode:v1"}
	images := map[string]v1.Image{}
	for i, name := range names {
		r := recipe{user: "999", entrypoint: []string{"x"}, args: []string{"serve"}, env: []string{"A=B"}}
		img, err := image(filepath.Join(dir, string(rune('a'+i))), content{"/x": {text: name, mode: 0o755}}, r)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.User != "999" || config.OS != "linux" || !slices.Equal(config.Config.Env, []string{searchPath, "A=B"}) || !slices.Equal(config.Config.Cmd, r.args) {
			t.Errorf("got %+v", config)
		}
		images[name] = img
	}
	file := filepath.Join(dir, "images.tar")
	if err := writeArchive(file, images); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var got []string
	for reader := tar.NewReader(f); ; {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != "manifest.json" {
			continue
		}
		var manifest []struct{ RepoTags []string }
		if err := json.NewDecoder(reader).Decode(&manifest); err != nil {
			t.Fatal(err)
		}
		for _, m := range manifest {
			got = append(got, m.RepoTags...)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("got %v, want %v", got, names)
	}
	if err := writeArchive(file, map[string]v1.Image{"Not A Name": images[names[0]]}); err == nil {
		t.Error("a name that is none was written")
	}
}
