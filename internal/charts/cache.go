package charts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// Cache keeps archives by their digest, in files of a directory. What is in it is trusted no more
// than a download: it is held against its digest whenever it is read. Several processes may use one
// directory.
type Cache struct {
	Dir string
}

// digestOf is the digest of an archive, as sha256:HEX.
func digestOf(tgz []byte) string {
	sum := sha256.Sum256(tgz)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// File is where the archive with a digest is, if it is there.
func (c Cache) File(digest string) string {
	return filepath.Join(c.Dir, "sha256", strings.TrimPrefix(digest, "sha256:")+".tgz")
}

// Get reads an archive; nil if the cache does not have it. A file with other bytes is removed, and
// counts as absent.
func (c Cache) Get(digest string) ([]byte, error) {
	file, err := os.Open(c.File(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a chart of the cache: %w", err)
	}
	tgz, err := archive.ReadPacked(file)
	_ = file.Close() // it was only read
	if err == nil && digestOf(tgz) == digest {
		return tgz, nil
	}
	if err := os.Remove(file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove a broken chart from the cache: %w", err)
	}
	return nil, nil
}

// Put keeps an archive.
func (c Cache) Put(tgz []byte) error {
	path := c.File(digestOf(tgz))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keep a chart in the cache: %w", err)
	}
	if err := filesys.WriteFile(path, tgz, 0o644); err != nil {
		return fmt.Errorf("keep a chart in the cache: %w", err)
	}
	return nil
}
