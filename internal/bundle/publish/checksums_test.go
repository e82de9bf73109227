package publish

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// made is a bundle of two files.
func made(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "README.md", "read me\n")
	put(t, dir, "gpu/values.yaml", "a: 1\n")
	put(t, dir, ChecksumsFile, line("README.md", "read me\n")+line("gpu/values.yaml", "a: 1\n"))
	return dir
}

func line(name, content string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string)
		files  int
		want   []string // parts of the problems, with the directory left out
	}{
		"whole":   {func(string) {}, 2, nil},
		"changed": {func(dir string) { put(t, dir, "gpu/values.yaml", "a: 2\n") }, 1, []string{"/checksums.txt:2: gpu/values.yaml has the SHA-256 "}},
		"added":   {func(dir string) { put(t, dir, "gpu/more.yaml", "") }, 2, []string{"/gpu/more.yaml: it is not in checksums.txt"}},
		"removed": {func(dir string) { must(t, os.Remove(filepath.Join(dir, "README.md"))) }, 1, []string{"/checksums.txt:1: README.md is not in the bundle"}},
		"link":    {func(dir string) { must(t, os.Symlink("README.md", filepath.Join(dir, "link"))) }, 2, []string{"/link: it is a symbolic link"}},
		"replaced": {func(dir string) {
			must(t, os.Remove(filepath.Join(dir, "README.md")))
			must(t, os.Symlink("/etc/hostname", filepath.Join(dir, "README.md")))
		}, 1, []string{"/README.md: it is a symbolic link"}},
		"socket": {func(dir string) { must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)) }, 2, []string{"/pipe: it is no regular file"}},
		"empty":  {func(dir string) { must(t, os.MkdirAll(filepath.Join(dir, "x", "y"), 0o755)) }, 2, []string{"/x: the directory has no file", "/x/y: the directory has no file"}},
		"twice": {func(dir string) {
			put(t, dir, ChecksumsFile, line("README.md", "read me\n")+line("./README.md", "")+line("gpu/values.yaml", "a: 1\n"))
		}, 2, []string{"/checksums.txt:2: README.md is already on line 1"}},
		"outside": {func(dir string) {
			put(t, dir, ChecksumsFile, line("README.md", "read me\n")+line("gpu/values.yaml", "a: 1\n")+line("../x", ""))
		}, 2, []string{`/checksums.txt:3: "../x" leads out of the bundle`}},
		"no sum": {func(dir string) { put(t, dir, ChecksumsFile, "abc  README.md\n"+line("gpu/values.yaml", "a: 1\n")) }, 1, []string{"/README.md: it is not in checksums.txt", "/checksums.txt:1: "}},
		"itself": {func(dir string) {
			put(t, dir, ChecksumsFile, line("README.md", "read me\n")+line("gpu/values.yaml", "a: 1\n")+line(ChecksumsFile, ""))
		}, 2, []string{"/checksums.txt:3: checksums.txt cannot be in the list"}},
		"of another machine": {func(dir string) {
			put(t, dir, ChecksumsFile, line("/home/runner/w/bundle/README.md", "read me\n")+line("/home/runner/w/bundle/gpu/values.yaml", "a: 1\n"))
		}, 2, nil},
		"of an older release": {func(dir string) { put(t, dir, "recipe.yaml", "{}") }, 2, nil},
		"of a newer release": {func(dir string) {
			put(t, dir, "bundle-info.yaml", "{}")
			put(t, dir, "recipe.yaml", "{}")
			put(t, dir, ChecksumsFile, line("README.md", "read me\n")+line("gpu/values.yaml", "a: 1\n")+line("bundle-info.yaml", "{}"))
		}, 3, []string{"/recipe.yaml: it is not in checksums.txt"}},
		"a recipe elsewhere": {func(dir string) { put(t, dir, "gpu/recipe.yaml", "{}") }, 2, []string{"/gpu/recipe.yaml: it is not in checksums.txt"}},
		"signed":             {func(dir string) { put(t, dir, "attestation/bundle-attestation.sigstore.json", "{}") }, 2, nil},
		"signed by what":     {func(dir string) { put(t, dir, "attestation/other.json", "{}") }, 2, []string{"/attestation/other.json: it is not in checksums.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := made(t)
			c.change(dir)
			r, err := Check(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range r.Problems {
				got = append(got, strings.TrimPrefix(p.Error(), filepath.ToSlash(dir)))
			}
			if len(got) != len(c.want) || r.Files != c.files {
				t.Fatalf("got %d files and %q, want %d and %q", r.Files, got, c.files, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
			if signed := slices.Contains(r.Attestations, "attestation/bundle-attestation.sigstore.json"); signed != (name == "signed") {
				t.Errorf("got attestations %q", r.Attestations)
			}
			if unlisted := slices.Contains(r.Unlisted, "recipe.yaml"); unlisted != (name == "of an older release") {
				t.Errorf("got unlisted files %q", r.Unlisted)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	dir := made(t)
	must(t, os.Remove(filepath.Join(dir, ChecksumsFile)))
	for at, want := range map[string]string{
		dir:                             "it has no checksums.txt",
		filepath.Join(dir, "none"):      "no such file or directory",
		filepath.Join(dir, "README.md"): "it is not a directory",
	} {
		if _, err := Check(at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", at, err, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
