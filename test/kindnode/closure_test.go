package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// program64 is the least ELF file that says which libraries and which loader it needs.
func program64(t *testing.T, loader string, libraries ...string) []byte {
	t.Helper()
	names := "\x00"
	var dynamic []elf.Dyn64
	for _, l := range libraries {
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(elf.DT_NEEDED), Val: uint64(len(names))})
		names += l + "\x00"
	}
	dynamic = append(dynamic, elf.Dyn64{})
	const sections = "\x00.dynamic\x00.dynstr\x00.shstrtab\x00"
	const head, segment, section = 64, 56, 64
	interp := uint64(head + segment)
	dyn := interp + uint64(len(loader)) + 1
	str := dyn + uint64(len(dynamic)*16)
	shstr := str + uint64(len(names))
	table := shstr + uint64(len(sections))
	var out bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&out, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: head, Shoff: table, Ehsize: head, Phentsize: segment, Phnum: 1, Shentsize: section, Shnum: 4, Shstrndx: 3}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	if loader == "" {
		h.Phnum = 0
	}
	put(h)
	put(elf.Prog64{Type: uint32(elf.PT_INTERP), Off: interp, Filesz: uint64(len(loader) + 1)})
	put([]byte(loader + "\x00"))
	put(dynamic)
	put([]byte(names + sections))
	put(elf.Section64{})
	put(elf.Section64{Name: 1, Type: uint32(elf.SHT_DYNAMIC), Off: dyn, Size: uint64(len(dynamic) * 16), Link: 2, Entsize: 16})
	put(elf.Section64{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: str, Size: uint64(len(names))})
	put(elf.Section64{Name: 18, Type: uint32(elf.SHT_STRTAB), Off: shstr, Size: uint64(len(sections))})
	return out.Bytes()
}

// debianTree is laid out as Debian lays out a system: /lib is a link, the library's name is a link,
// programs go by alternatives.
func debianTree(t *testing.T) (tree, string) {
	t.Helper()
	root, libs := t.TempDir(), "/usr/lib/"+multiarch[runtime.GOARCH]
	files := map[string][]byte{
		"/usr/bin/redis": program64(t, "/lib/ld.so", "libm.so.6", "libc.so.6"), "/usr/lib/ld.so": program64(t, ""), "/usr/bin/script": []byte("#!/bin/sh\n"),
		libs + "/libm.so.6": program64(t, "", "libc.so.6"), libs + "/libc-2.36.so": program64(t, "/lib/ld.so"), libs + "/xtables/libxt_a.so": program64(t, "", "libm.so.6"),
		"/usr/bin/lost": program64(t, "/lib/ld.so", "libgone.so.1"),
	}
	for path, data := range files {
		if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+path, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"/lib": "usr/lib", "/bin": "usr/bin", libs + "/libc.so.6": "libc-2.36.so", "/usr/bin/redis-server": "/etc/alternatives/redis", "/etc/alternatives/redis": "/usr/bin/redis", "/usr/bin/round": "round",
	} {
		if err := os.MkdirAll(filepath.Dir(root+link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, root+link); err != nil {
			t.Fatal(err)
		}
	}
	return tree(root), libs
}

func TestClosure(t *testing.T) {
	debian, libs := debianTree(t)
	files, err := debian.closure("/usr/bin/redis-server", "/bin/script")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/usr/bin/redis-server": "/usr/bin/redis", "/bin/script": "/usr/bin/script", "/lib/ld.so": "/usr/lib/ld.so",
		libs + "/libm.so.6": libs + "/libm.so.6", libs + "/libc.so.6": libs + "/libc-2.36.so",
	}
	for path, file := range want {
		if files[path] != string(debian)+file {
			t.Errorf("%s: got %q, want %s", path, files[path], file)
		}
	}
	if len(files) != len(want) {
		t.Errorf("got %v", files)
	}
	for path, message := range map[string]string{"/usr/bin/lost": "libgone.so.1", "/usr/bin/none": "none", "/usr/bin/round": "symbolic links"} {
		if _, err := debian.closure(path); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: got %v, want %q in it", path, err, message)
		}
	}
}

// iptables loads its extensions by name: no program names them, and they need libraries of their
// own.
func TestContentFollowsTheLibrariesOfATree(t *testing.T) {
	debian, libs := debianTree(t)
	c, err := testFixture(t).content(debian, recipe{trees: []string{"/usr/lib/*/xtables"}, links: map[string]string{"/sbin/x": "/usr/bin/redis"}, dirs: scratch()})
	if err != nil {
		t.Fatal(err)
	}
	got := sortedKeys(c)
	want := []string{"/lib/ld.so", "/sbin/x", "/tmp", libs + "/libc.so.6", libs + "/libm.so.6", libs + "/xtables/libxt_a.so"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if _, err := testFixture(t).content(debian, recipe{name: "kube-proxy:v1", trees: []string{"/usr/lib/*/none"}}); err == nil || !strings.Contains(err.Error(), "kube-proxy:v1") {
		t.Errorf("a tree that is not there: %v", err)
	}
}
