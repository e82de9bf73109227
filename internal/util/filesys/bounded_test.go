package filesys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := File(name, 5); err != nil || string(got) != "12345" {
		t.Errorf("got %q, %v", got, err)
	}
	var large *TooLargeError
	if _, err := File(name, 4); !errors.As(err, &large) || err.Error() != name+" is larger than 4 bytes, the limit for such a file" {
		t.Errorf("got %v", err)
	}
	if _, err := File(filepath.Join(dir, "none"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	fsys := fstest.MapFS{"a": {Data: []byte("12345")}}
	if got, err := FS(fsys, "a", 5); err != nil || string(got) != "12345" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := FS(fsys, "a", 4); !errors.As(err, &large) {
		t.Errorf("got %v", err)
	}
}

// A file of a terabyte is refused without being read: it takes no room on the disk, and would take
// all of the memory.
func TestHugeFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.json")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<40), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := File(name, 1<<20); err == nil || !strings.Contains(err.Error(), name+" is larger than 1 MiB") {
		t.Errorf("got %v", err)
	}
}

// A pipe has no size, and may never end.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		for err == nil {
			_, err = f.Write(make([]byte, 1<<10)) // until the reader closes the pipe
		}
	}()
	var large *TooLargeError
	if _, err := File(name, 1<<20); !errors.As(err, &large) {
		t.Errorf("got %v", err)
	}
}

// A pipe to which nothing writes is not waited for without end; a shell's <(command) is a pipe too,
// and is read.
func TestFile_Pipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := File(pipe, 10); err == nil || err.Error() != pipe+" is a pipe to which nothing writes; name a file" {
		t.Errorf("got %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := w.WriteString("12345"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := File(fmt.Sprintf("/dev/fd/%d", r.Fd()), 5); err != nil || string(got) != "12345" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSHA256(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	// FIPS 180-4's example.
	if got, err := SHA256(file); err != nil || got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("got %s, %v", got, err)
	}
	for _, name := range []string{file + "absent", filepath.Dir(file)} {
		if got, err := SHA256(name); err == nil || got != "" || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %q, %v, want an error that names it", name, got, err)
		}
	}
}

// What is no regular file is not read, and not waited for: a pipe that nothing writes to, a device
// without an end, a link to one.
func TestRegular(t *testing.T) {
	dir := t.TempDir()
	file, pipe, link := filepath.Join(dir, "x"), filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("12345"), 0o600), syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", link)); err != nil {
		t.Fatal(err)
	}
	if got, err := Regular(file, 5); err != nil || string(got) != "12345" {
		t.Errorf("got %q, %v", got, err)
	}
	var large *TooLargeError
	if _, err := Regular(file, 4); !errors.As(err, &large) {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{pipe, link, dir} {
		if _, err := Regular(name, 1<<20); err == nil || !strings.Contains(err.Error(), name+" is not a regular file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Regular(filepath.Join(dir, "none"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
