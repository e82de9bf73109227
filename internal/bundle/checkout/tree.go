package checkout

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// gitName is where Git has a clone's own files, in its root and in those of its submodules. They are not
// part of what is checked out, and their configuration may have the login of a job.
const gitName = ".git"

// mostLinks is how many links a name may lead through.
const mostLinks = 40

// tree are the files of a checkout, without Git's own: neither by name nor through a link.
type tree struct {
	fs.FS
	plain *sync.Map // directories that are no links, and lead through none
}

func isGits(part string) bool {
	return strings.EqualFold(part, gitName) // as on a file system that does not tell cases apart
}

// see reports a name that leads to one of Git's files as missing. follow: the name itself may be a link that is
// followed.
func (t tree) see(op, name string, follow bool) error {
	dir, rest := ".", name
	for links := 0; rest != "" && rest != "."; {
		part, after, _ := strings.Cut(rest, "/")
		at := path.Join(dir, part)
		if isGits(part) {
			return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		if _, ok := t.plain.Load(at); ok || after == "" && !follow {
			dir, rest = at, after
			continue
		}
		info, err := fs.Lstat(t.FS, at)
		switch {
		case err != nil: // whatever it is, it is not read
			return err
		case info.Mode()&fs.ModeSymlink == 0:
			if info.IsDir() {
				t.plain.Store(at, nil)
			}
			dir, rest = at, after
			continue
		}
		if links++; links > mostLinks {
			return &fs.PathError{Op: op, Path: name, Err: syscall.ELOOP}
		}
		to, err := fs.ReadLink(t.FS, at)
		if err != nil {
			return err
		}
		if to = path.Join(dir, to); !fs.ValidPath(to) || path.IsAbs(to) {
			return nil // it leads out, which the root refuses
		}
		dir, rest = ".", path.Join(to, after)
	}
	return nil
}

func (t tree) Open(name string) (fs.File, error) {
	if err := t.see("open", name, true); err != nil {
		return nil, err
	}
	return t.FS.Open(name)
}

// Stat makes it an fs.StatFS, so that what is no regular file need not be opened.
func (t tree) Stat(name string) (fs.FileInfo, error) {
	if err := t.see("stat", name, true); err != nil {
		return nil, err
	}
	return fs.Stat(t.FS, name)
}

// ReadDir makes it an fs.ReadDirFS.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := t.see("open", name, true); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(t.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return isGits(e.Name()) }), err
}

// Lstat and ReadLink make it an fs.ReadLinkFS.
func (t tree) Lstat(name string) (fs.FileInfo, error) {
	if err := t.see("lstat", name, false); err != nil {
		return nil, err
	}
	return fs.Lstat(t.FS, name)
}

func (t tree) ReadLink(name string) (string, error) {
	if err := t.see("readlink", name, false); err != nil {
		return "", err
	}
	return fs.ReadLink(t.FS, name)
}
