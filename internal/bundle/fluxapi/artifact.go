package fluxapi

// artifact.go has what source-controller of Flux takes of a Git repository. It must not know objects
// or clusters.

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// ArtifactOf is a repository without the files that Flux leaves out of its artifact: by spec.ignore of a
// GitRepository, by files .sourceignore, and, where there is neither, by Flux's own list, e.g. pictures,
// archives and .github/.
func ArtifactOf(fsys fs.FS, ignore string) (fs.FS, error) {
	var patterns []gitignore.Pattern
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.Name() != sourceignore.IgnoreFile || !e.Type().IsRegular():
			return nil
		}
		content, err := fs.ReadFile(fsys, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		patterns = append(patterns, sourceignore.ReadPatterns(bytes.NewReader(content), segments(path.Dir(name)))...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(ignore), nil)...)
	if len(patterns) == 0 {
		return files{fsys, sourceignore.NewDefaultMatcher(nil, nil)}, nil
	}
	return files{fsys, sourceignore.NewMatcher(slices.Concat(sourceignore.VCSPatterns(nil), patterns))}, nil
}

// segments are the names of a path; none for the root.
func segments(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// files are those of a file system that no pattern matches. A directory is there as long as it is not
// ignored itself.
type files struct {
	fs.FS
	ignored gitignore.Matcher
}

func (f files) see(op, name string) error {
	info, err := fs.Lstat(f.FS, name)
	if err == nil && name != "." && f.ignored.Match(segments(name), info.IsDir()) {
		err = &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return err
}

func (f files) Open(name string) (fs.File, error) {
	if err := f.see("open", name); err != nil {
		return nil, err
	}
	return f.FS.Open(name)
}

// ReadDir makes it an fs.ReadDirFS.
func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.see("open", name); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return f.ignored.Match(segments(path.Join(name, e.Name())), e.IsDir())
	}), err
}

// Lstat and ReadLink make it an fs.ReadLinkFS.
func (f files) Lstat(name string) (fs.FileInfo, error) {
	if err := f.see("lstat", name); err != nil {
		return nil, err
	}
	return fs.Lstat(f.FS, name)
}

func (f files) ReadLink(name string) (string, error) {
	if err := f.see("readlink", name); err != nil {
		return "", err
	}
	return fs.ReadLink(f.FS, name)
}
