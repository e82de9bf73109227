package filesys

// atomicfile.go replaces files as a whole. It must not know what is in them.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteFile replaces a file by renaming, and sets its mode. A reader finds the old content or the new
// one, even if other processes write the file at the same time. The directory must exist. Until the
// rename the content is in a hidden file beside it; after an error Write removes that file.
func WriteFile(path string, content []byte, mode fs.FileMode) (err error) {
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
