package filesys

// gitdir.go finds the working tree of Git that a directory is in, without a git program.

import (
	"os"
	"path/filepath"
)

// GitTop is the first directory that has a .git, which no commit can contain: dir or one above it. dir
// must be absolute; its links are resolved if they can be. Empty if there is none.
func GitTop(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}
