// Package atomicfile replaces files as a whole. It must not know what is in them.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces a file in one move, with a mode: whoever reads it finds the old content or the new
// one, whoever else writes it at the same time. The directory must exist. Until the end, the
// content is in a hidden file beside it; after an error there is none.
func Write(path string, content []byte, mode fs.FileMode) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimPrefix(filepath.Base(path), ".")+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error is the one to tell of
		}
	}()
	_, err = tmp.Write(content)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Close()); err != nil { // a temporary file is its owner's alone
		return err
	}
	return os.Rename(tmp.Name(), path)
}
