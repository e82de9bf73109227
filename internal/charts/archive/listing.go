package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/ignore"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// mostLinked is how many links to directories may be on the way to a file of a chart.
const mostLinked = 16

// helmFiles are the names of the files that Helm loads of the chart in a directory: those that the rules of its
// .helmignore, and Helm's own, leave. The rules of a chart in it do not count. As in Helm links are followed,
// if they do not lead out of fsys.
func helmFiles(fsys fs.FS, dir string) ([]string, error) {
	rules := ignore.Empty()
	at := path.Join(dir, ignore.HelmIgnore)
	text, err := filesys.FS(fsys, at, MostFile)
	switch {
	case err == nil:
		if rules, err = ignore.Parse(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s: %w; Helm loads no chart with it", at, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	rules.AddDefaults()
	return list(fsys, dir, rules.Ignore)
}

// AllFiles are the names of all files in the directory of a chart: Argo CD and Flux also read values files of those
// that Helm ignores.
func AllFiles(fsys fs.FS, dir string) ([]string, error) {
	return list(fsys, dir, func(string, fs.FileInfo) bool { return false })
}

// list gives the files below a directory, in order. Git's own files are left out.
func list(fsys fs.FS, dir string, ignored func(rel string, info fs.FileInfo) bool) ([]string, error) {
	var names []string
	var walk func(at string, links int) error
	walk = func(at string, links int) error {
		entries, err := fs.ReadDir(fsys, at)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(at, e.Name())
			info, err := Stat(fsys, name, e)
			if err != nil {
				return err
			}
			rel := strings.TrimPrefix(name, dir+"/")
			if ignored(rel, info) || e.Name() == ".git" {
				continue
			}
			if !info.IsDir() {
				if names = append(names, name); len(names) > mostFiles {
					return fmt.Errorf("%s has more than %d files, which no chart has", dir, mostFiles)
				}
				continue
			}
			into := links
			if e.Type()&fs.ModeSymlink != 0 {
				into++
			}
			if into > mostLinked {
				return fmt.Errorf("%s is behind %d symbolic links to directories: they lead in a circle", name, into)
			}
			if err := walk(name, into); err != nil {
				return err
			}
		}
		return nil
	}
	return names, walk(dir, 0)
}
