// Package filesys works on files that other programs have made or may be changing: it reads
// untrusted files up to a size, replaces files as a whole, removes directories, and finds the
// working tree of Git that a directory is in.
package filesys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// TooLargeError is a file with more bytes than its reader takes.
type TooLargeError struct {
	File string
	Most int64 // bytes
}

func (e *TooLargeError) Error() string {
	unit, n := "bytes", e.Most
	if n >= 1<<20 {
		unit, n = "MiB", n>>20
	}
	return fmt.Sprintf("%s is larger than %d %s, the limit for such a file", e.File, n, unit)
}

// File reads a file of at most so many bytes. Errors are a *TooLargeError, or those of the file
// system. A pipe is read too, as a shell's <(command) is one, if something writes to it.
func File(name string, most int64) ([]byte, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return read(f, name, most)
}

// unwritten is how long a pipe is waited for that nothing has opened to write.
const unwritten = 5 * time.Second

// open opens a file. To open a pipe to which nothing writes would take for ever.
func open(name string) (*os.File, error) {
	if info, err := os.Stat(name); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return os.Open(name)
	}
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.Open(name)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-time.After(unwritten):
		return nil, fmt.Errorf("%s is a pipe to which nothing writes; name a file", name)
	}
}

// Regular is File for what another program, or a pull request, may have put there: it reads a regular
// file only. To open a pipe may take for ever, and a device has no end.
func Regular(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // which opens a pipe without its writer
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", name), f.Close())
	}
	return read(f, name, most)
}

// FS is File in a file system, of which it reads regular files only: to open a pipe may take for
// ever.
func FS(fsys fs.FS, name string, most int64) ([]byte, error) {
	if info, err := fs.Stat(fsys, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	return read(f, name, most)
}

func read(f fs.File, name string, most int64) ([]byte, error) {
	defer func() { _ = f.Close() }() // opened for reading: what matters is in the reads
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Size() > most {
		return nil, &TooLargeError{name, most}
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, &TooLargeError{name, most}
	}
	return data, nil
}
