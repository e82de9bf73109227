package filesys

// rmtree.go removes directories that other programs have written to. It must not know what
// they are for.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// RemoveTree removes a path and everything below it, as os.RemoveAll does, also if a directory in it
// cannot be listed or changed: Argo CD's repo-server leaves one with mode 0300, which its owner
// cannot list unless the owner is root. The path itself must be in a directory that only this
// program writes to. No error if it does not exist.
func RemoveTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if rightsErr := giveRights(path); rightsErr != nil {
		return errors.Join(err, rightsErr)
	}
	return os.RemoveAll(path)
}

// giveRights lets this user list and change every directory below path. It uses os.Root, so that no
// link leads out of path, even if a program that still runs there changes directories meanwhile.
func giveRights(path string) error {
	const mine = 0o700
	if err := os.Chmod(path, mine); err != nil {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return root.Chmod(name, mine) // before WalkDir lists it
	})
	if err != nil {
		return fmt.Errorf("give this user the rights to remove %s: %w", path, err)
	}
	return nil
}
