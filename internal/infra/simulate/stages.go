package simulate

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"sort"
)

// Stages joins the KWOK stages in dir of fsys into one stream of YAML documents.
func Stages(fsys fs.FS, dir string) ([]byte, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var parts [][]byte
	for _, f := range files {
		raw, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, fmt.Errorf("read KWOK stage %s: %w", f, err)
		}
		parts = append(parts, bytes.TrimSpace(raw))
	}
	return bytes.Join(parts, []byte("\n---\n")), nil
}
