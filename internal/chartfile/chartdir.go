package chartfile

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// LoadDir reads an unpacked chart. It leaves out what the .helmignore of `helm create` leaves out; a chart's own .helmignore is not read.
func LoadDir(fsys fs.FS, dir string) (*chart.Chart, error) {
	var files []*loader.BufferedFile
	err := fs.WalkDir(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(p); p != dir && ignored(base) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := CheckSize(info.Size()); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(p, dir+"/"), Data: data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(files)
}

func ignored(base string) bool {
	if strings.HasPrefix(base, ".") && base != ".helmignore" {
		return true
	}
	return slices.ContainsFunc([]string{".swp", ".bak", ".tmp", ".orig", "~"}, func(suffix string) bool {
		return strings.HasSuffix(base, suffix)
	})
}

// Same reports whether two charts have the same files, in whatever order they were packed.
func Same(a, b *chart.Chart) bool {
	files := func(ch *chart.Chart) map[string]string {
		all := map[string]string{}
		for _, f := range ch.Raw {
			all[f.Name] = string(f.Data)
		}
		return all
	}
	return maps.Equal(files(a), files(b))
}
