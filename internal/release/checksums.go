package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ChecksumsFile is the name of the file that Checksums writes.
const ChecksumsFile = "checksums.txt"

// Checksums writes the SHA-256 of every file in the directory to checksums.txt there, sorted by name, in the form that `sha256sum --check` reads.
func Checksums(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("make checksums: %w", err)
	}
	var b strings.Builder
	for _, f := range files {
		if f.Name() == ChecksumsFile {
			continue
		}
		digest, err := digestOf(filepath.Join(dir, f.Name()))
		if err != nil {
			return fmt.Errorf("make checksums: %w", err)
		}
		fmt.Fprintf(&b, "%s  %s\n", digest, f.Name())
	}
	if b.Len() == 0 {
		return fmt.Errorf("make checksums: there are no files in %s", dir)
	}
	return os.WriteFile(filepath.Join(dir, ChecksumsFile), []byte(b.String()), 0o644)
}

func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
