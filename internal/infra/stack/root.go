package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Root is a directory that has only one binary, for a process that is to see no other file of the
// machine; whether it exists yet or not.
func (s *Stack) Root(name string) string { return filepath.Join(s.Dir, "roots", name) }

// MakeRoot makes the Root of a binary that is built, with the binary at a path in it.
func (s *Stack) MakeRoot(name, at string) error {
	file := filepath.Join(s.Root(name), filepath.Clean("/"+at))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make a root for %s: %w", name, err)
	}
	if err := os.Link(s.Bin(name), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a root for %s: %w", name, err)
	}
	return nil
}
