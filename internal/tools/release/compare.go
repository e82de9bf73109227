package release

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// Compare holds the files of a release against those that were made from the same source elsewhere:
// each file in again has to be in dir too, and be the same. Of an archive, what is in it has to be
// the same; its compressed bytes may differ.
func Compare(dir, again string) error {
	files, err := os.ReadDir(again)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("compare: there are no files in %s", again)
	}
	var errs []error
	for _, f := range files {
		digest := filesys.SHA256
		if strings.HasSuffix(f.Name(), stack.ArchiveSuffix) {
			digest = contentOf
		}
		want, err := digest(filepath.Join(dir, f.Name()))
		if err != nil {
			errs = append(errs, fmt.Errorf("compare %s: %w", f.Name(), err))
			continue
		}
		got, err := digest(filepath.Join(again, f.Name()))
		if err == nil && got != want {
			err = fmt.Errorf("%s in %s, and %s in %s: the same source made another file", want, dir, got, again)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("compare %s: %w", f.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// contentOf is a digest of the names, modes and bytes of an archive's files.
func contentOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	plain, err := zstd.NewReader(f)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	defer plain.Close()
	sum, archive := sha256.New(), tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		if err != nil {
			return "", fmt.Errorf("read %s: %w", file, err)
		}
		if _, err := fmt.Fprintf(sum, "%q %o %d\n", header.Name, header.Mode, header.Size); err != nil {
			return "", err
		}
		if _, err := io.Copy(sum, archive); err != nil {
			return "", fmt.Errorf("read %s: %w", file, err)
		}
	}
}
