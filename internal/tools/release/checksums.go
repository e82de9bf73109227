package release

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// checksumsFile is the name of the file that Checksums writes.
const checksumsFile = "checksums.txt"

// Checksums writes the SHA-256 of every file in the directory to checksums.txt there, sorted by
// name, in the form that `sha256sum --check` reads.
func Checksums(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("make checksums: %w", err)
	}
	var b strings.Builder
	for _, f := range files {
		if f.Name() == checksumsFile {
			continue
		}
		digest, err := filesys.SHA256(filepath.Join(dir, f.Name()))
		if err != nil {
			return fmt.Errorf("make checksums: %w", err)
		}
		fmt.Fprintf(&b, "%s  %s\n", digest, f.Name())
	}
	if b.Len() == 0 {
		return fmt.Errorf("make checksums: there are no files in %s", dir)
	}
	return os.WriteFile(filepath.Join(dir, checksumsFile), []byte(b.String()), 0o644)
}
