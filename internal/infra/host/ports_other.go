//go:build !linux

package host

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"
)

// lockPort takes a user's lock of a port, or nil if another of the user's runs holds it.
func lockPort(dir string, port int) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the port lock directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, strconv.Itoa(port)+".lock"))
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return nil, err
	}
	return lock, nil
}
