package recipe

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Layer is a directory of recipe files.
type Layer struct {
	FS   fs.FS
	Root string // how messages call it
}

// OpenWithData is Open of a recipes directory with a data directory laid over it, as --data of
// AICR's own CLI does it: the components of both registries count, and of two with one name the
// data directory's; any other file of the data directory takes the place of the file with the same
// path. The data directory must have a registry.yaml, no symbolic links and no file of more than 10
// MiB. Messages name the file that a person has to open, in the directory in which it is.
func OpenWithData(recipes, data Layer) (*Store, error) { return openLayers(data, recipes) }

// layered is several directories as one; the first one that has a name wins.
type layered []Layer

var (
	_ fs.ReadDirFS  = layered(nil)
	_ fs.StatFS     = layered(nil)
	_ fs.ReadLinkFS = layered(nil)
)

// owner is the layer that has the name, and what it is there. A file hides the directories of that
// name below it, with all that is in them: files.check looks at every step of a path.
func (l layered) owner(op, name string) (Layer, fs.FileInfo, error) {
	for _, layer := range l {
		info, err := fs.Lstat(layer.FS, name)
		if absent(err) {
			continue
		}
		return layer, info, err
	}
	return Layer{}, nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// absent: a path that leads through a file does not exist either, but not every file system says
// so.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Open opens the file of the layer that wins.
func (l layered) Open(name string) (fs.File, error) {
	layer, _, err := l.owner("open", name)
	if err != nil {
		return nil, err
	}
	return layer.FS.Open(name)
}

// Lstat describes the file of the layer that wins, and follows no link.
func (l layered) Lstat(name string) (fs.FileInfo, error) {
	_, info, err := l.owner("lstat", name)
	return info, err
}

// Stat is Lstat: links are refused, so none is followed.
func (l layered) Stat(name string) (fs.FileInfo, error) { return l.Lstat(name) }

// ReadLink reads no link: they are refused.
func (l layered) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

// ReadDir gives what the directories of that name have in all layers, sorted.
func (l layered) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, _, err := l.owner("readdir", name); err != nil {
		return nil, err
	}
	var all []fs.DirEntry
	known := map[string]bool{}
	for _, layer := range l {
		info, err := fs.Lstat(layer.FS, name)
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			break // it hides the directories below
		}
		entries, err := fs.ReadDir(layer.FS, name)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !known[entry.Name()] {
				known[entry.Name()] = true
				all = append(all, entry)
			}
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// checkData adds what a data directory must not have. Nothing of it is read before.
func (l *loader) checkData(data Layer) {
	at := func(name string) Origin { return Origin{File: path.Join(data.Root, name)} }
	if _, err := fs.Lstat(data.FS, registryFile); absent(err) {
		l.add(at(registryFile), "the data directory %s has no %s, which it must have; write one (kind: ComponentRegistry, and components: [] if there are none to add)", data.Root, registryFile)
	}
	err := fs.WalkDir(data.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.add(at(name), "reading it: %w", err)
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
		case entry.Type()&fs.ModeSymlink != 0:
			l.add(at(name), "it is a symbolic link, which may lead out of the data directory; replace it with a copy")
		case !entry.Type().IsRegular():
			l.add(at(name), "it is not a regular file; remove it")
		default:
			info, err := entry.Info()
			if err != nil {
				l.add(at(name), "reading it: %w", err)
			} else if info.Size() > maxFileSize {
				l.add(at(name), "%w", tooLarge(path.Join(data.Root, name)))
			}
		}
		return nil
	})
	if err != nil {
		l.add(at("."), "reading the directory: %w", err)
	}
}
