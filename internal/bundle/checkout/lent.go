package checkout

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Lend has an older state of a checkout read directories that it lacks from a newer one: a person checks other repositories out
// beside the state that is tried, and no commit has them.
func (r *Repository) Lend(older *Repository, dirs []string) {
	dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return dir == "" || older.HasDir(path.Clean(dir)) || !r.HasDir(path.Clean(dir))
	})
	for i := range dirs {
		dirs[i] = path.Clean(dirs[i])
	}
	if len(dirs) > 0 {
		older.FSys = lent{older.FSys, r.FSys, dirs}
	}
}

// lent is a file system that has some directories from another one.
type lent struct {
	own, other fs.FS
	dirs       []string
}

func (l lent) of(name string) fs.FS {
	if slices.ContainsFunc(l.dirs, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }) {
		return l.other
	}
	return l.own
}

func (l lent) Open(name string) (fs.File, error)          { return l.of(name).Open(name) }
func (l lent) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(l.of(name), name) }
func (l lent) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(l.of(name), name) }
func (l lent) ReadLink(name string) (string, error)       { return fs.ReadLink(l.of(name), name) }
