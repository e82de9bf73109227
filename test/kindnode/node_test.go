package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBaseSpec(t *testing.T) {
	got, err := baseSpec([]byte(`{"ociVersion":"1.0","process":{"args":["sh"],"rlimits":[{"type":"RLIMIT_NOFILE"}]}}`))
	want := `{"hooks":{"createContainer":[{"path":"/kind/bin/mount-product-files.sh"}]},"ociVersion":"1.0","process":{"args":["sh"]}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, in := range []string{"", "{}", `{"process":1}`} {
		if _, err := baseSpec([]byte(in)); err == nil {
			t.Errorf("%q passed", in)
		}
	}
}

// A line of kind's that is no longer there must stop the build: without it the node would fail in
// another place, much later.
func TestEdit(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "config.toml"), []byte("a = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := edit(root, "config.toml", "a = false", "a = true"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(root, "config.toml")); string(got) != "a = true\n" {
		t.Errorf("got %q", got)
	}
	if err := edit(root, "config.toml", "a = false", "a = true"); err == nil || !strings.Contains(err.Error(), "a = false") {
		t.Errorf("got %v", err)
	}
}

func TestMountsBelow(t *testing.T) {
	table := "30 1 0:1 / / rw - ext4 /dev/vda rw\n" +
		"31 30 0:2 / /c/engine/data/overlay2/x/merged rw - overlay overlay rw\n" +
		"32 31 0:3 / /c/engine/data/overlay2/x/merged/dev rw - tmpfs tmpfs rw\n" +
		"33 30 0:4 / /c/engine-of-others/data rw - tmpfs tmpfs rw\n" +
		"34 30 0:4 net:[4026532246] /run/kindnode-1/exec/netns/a\\040b rw - nsfs nsfs rw\n" +
		"broken\n"
	got := mountsBelow(table, "/c/engine", "/run/kindnode-1")
	want := []string{"/run/kindnode-1/exec/netns/a b", "/c/engine/data/overlay2/x/merged/dev", "/c/engine/data/overlay2/x/merged"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Kind's files win over Debian's, ours over kind's; scripts stay programs.
func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"bin/entrypoint": "#!/bin/bash\n", "etc/default/kubelet": "A=1\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyTree(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"bin/entrypoint": 0o755, "etc/default/kubelet": 0o644} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestRemoveAll(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"usr/share/doc/x", "etc/systemd/system/a.wants/b", "etc/systemd/system/kept"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeAll(root, []string{"usr/share/doc", "etc/systemd/system/*.wants/*", "not/there"}); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{"usr/share": true, "usr/share/doc": false, "etc/systemd/system/a.wants": true, "etc/systemd/system/a.wants/b": false, "etc/systemd/system/kept": true} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An engine's socket must fit into the 108 bytes that a socket's path has, however deep the cache
// directory lies.
func TestRunDirIsShortAndItsOwn(t *testing.T) {
	a := &engine{dir: "/" + strings.Repeat("deep/", 40)}
	b := &engine{dir: a.dir + "x"}
	if a.runDir() == b.runDir() {
		t.Error("two engines share a run directory")
	}
	if got := len(a.runDir() + "/exec/containerd/containerd-debug.sock"); got > 100 {
		t.Errorf("%d bytes", got)
	}
}
