package document

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// MaxFileSize is far above any real recipe file (the largest upstream manifests are CRDs of about 1
// MB) and low enough that a wrong file cannot exhaust the memory of a CI runner.
const MaxFileSize = 10 << 20

// MaxTotalSize is what all YAML files of a recipes directory may have together, and what the
// manifests of one recipe may: in memory they take several times as much.
const MaxTotalSize = 64 << 20

// Files is what is under a recipes directory. Nothing outside can be read through it.
type Files struct {
	FS     fs.FS   // all layers
	Layers []Layer // the one that wins first: the data directory, if there is one, and then the recipes directory
}

// FilesOf gives the files of layers, the one that wins first.
func FilesOf(layers ...Layer) Files {
	if len(layers) == 1 {
		return Files{layers[0].FS, layers}
	}
	return Files{layered(layers), layers}
}

// Display is the path as a person can open it: in the layer whose file it is. Directories, and what
// no layer has, are the recipes directory's.
func (f Files) Display(name string) string {
	base := len(f.Layers) - 1
	for _, l := range f.Layers[:base] {
		if info, err := fs.Lstat(l.FS, name); err == nil && !info.IsDir() {
			return path.Join(l.Root, name)
		}
	}
	return path.Join(f.Layers[base].Root, name)
}

// Overlaid reports whether the file is that of a data directory.
func (f Files) Overlaid(name string) bool {
	for _, l := range f.Layers[:len(f.Layers)-1] {
		if info, err := fs.Lstat(l.FS, name); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// Places is the path in every layer, for what is in none or in all.
func (f Files) Places(name, between string) string {
	var all []string
	for _, l := range f.Layers {
		all = append(all, path.Join(l.Root, name))
	}
	return strings.Join(all, between)
}

// Check says whether name is a regular file of the directory that is small enough to read.
func (f Files) Check(name string) error {
	if !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return fmt.Errorf("path %q is not a plain path inside the recipes directory; write it relative to %s, with slashes and without ./ and .. in it", name, f.Display("."))
	}
	// Every step on the way, since a directory may be a link as well as a file.
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := fs.Lstat(f.FS, name[:i])
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w; add it or correct the path", f.Places(name, " or "), fs.ErrNotExist)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", f.Display(name), err)
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link, which may lead out of the recipes directory; replace it with a copy", f.Display(name[:i]))
		case i < len(name) && !info.IsDir():
			return fmt.Errorf("%s is not a directory, so %s cannot exist; correct the path", f.Display(name[:i]), f.Display(name))
		case i == len(name) && !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file; name a file", f.Display(name))
		case i == len(name) && info.Size() > MaxFileSize:
			return TooLarge(f.Display(name))
		}
	}
	return nil
}

// Read gives the content of a file that passes check.
func (f Files) Read(name string) ([]byte, error) {
	if err := f.Check(name); err != nil {
		return nil, err
	}
	data, err := filesys.FS(f.FS, name, MaxFileSize)
	var large *filesys.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, TooLarge(f.Display(name))
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", f.Display(name), err)
	}
	return data, nil
}

// TooLarge is the error about a file that is larger than MaxFileSize.
func TooLarge(name string) error {
	return fmt.Errorf("%s is larger than %d MiB, which no recipe file is; remove it or split it", name, MaxFileSize>>20)
}

// Layer is a directory of recipe files.
type Layer struct {
	FS   fs.FS
	Root string // how messages call it
	// Lenient: fields and kinds of documents that are not known here are notes, and no problems. AICR's format moves.
	Lenient bool
}

// layered is several directories as one; the first one that has a name wins.
type layered []Layer

var (
	_ fs.ReadDirFS  = layered(nil)
	_ fs.StatFS     = layered(nil)
	_ fs.ReadLinkFS = layered(nil)
)

// owner returns the layer that has the name, and the name's file information in it. A file hides
// directories of the same name in lower layers, with their content: files.check checks every step
// of a path.
func (l layered) owner(op, name string) (Layer, fs.FileInfo, error) {
	for _, layer := range l {
		info, err := fs.Lstat(layer.FS, name)
		if Absent(err) {
			continue
		}
		return layer, info, err
	}
	return Layer{}, nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Absent: a path that leads through a file does not exist either, but not every file system says
// so.
func Absent(err error) bool {
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
		if Absent(err) {
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

// Relative undoes Display. Of two directories, one of which is in the other, it is the inner one's
// file.
func (f Files) Relative(displayed string) string {
	short := displayed
	for _, l := range f.Layers {
		if rest, ok := strings.CutPrefix(displayed, strings.TrimSuffix(path.Join(l.Root, "x"), "x")); ok && len(rest) < len(short) {
			short = rest
		}
	}
	return short
}

// Strays are the overlays of AICR's group that are in none of the usual directories: AICR's CLI takes
// an overlay from anywhere but below mixins/ and directories of these names. Other documents are none
// of a recipe's.
func (f Files) Strays(except ...string) []string {
	var found []string
	_ = fs.WalkDir(f.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // what cannot be read is met again, if anything needs it
		case entry.IsDir() && (name == "overlays" || name == "mixins" || slices.Contains(except, entry.Name()) || len(name) > 1 && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !entry.Type().IsRegular() || path.Ext(name) != ".yaml":
			return nil
		}
		data, err := f.Read(name)
		if err != nil || !bytes.Contains(data, []byte(OverlayKind)) {
			return nil
		}
		root, wrong := ParseYAML(name, data)
		if len(wrong) > 0 || root == nil {
			return nil
		}
		kind, version := NodeAt(root, "kind"), NodeAt(root, "apiVersion")
		if kind != nil && version != nil && kind.Value == OverlayKind && GenerationOf(version.Value) != March {
			found = append(found, name)
		}
		return nil
	})
	return found
}
