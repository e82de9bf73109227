package publish

// git_check.go pushes bundles to a Git repository, and refuses what a repository of a bundle must
// not have. It must not know how a bundle is generated, which lane publishes it, or who serves the
// repository.

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// RefusedError is a file of a bundle that a repository of a bundle must not have.
type RefusedError struct {
	// Path is the file's in the bundle; Line is 0 for the whole of it.
	Path string
	Line int
	Text string
}

func (e *RefusedError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Text)
	}
	return e.Path + ": " + e.Text
}

// lfsPointer begins a file whose content is elsewhere
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
const lfsPointer = "version https://git-lfs.github.com/spec/"

// CheckGit refuses what makes a Git client fetch from other places or run programs: submodules, Git
// LFS and hooks. The controllers here follow none of them, so that a bundle with them would be
// deployed without a part of it.
func CheckGit(files []bundle.File) error {
	for _, f := range files {
		if refused := check(f); refused != nil {
			return refused
		}
	}
	return nil
}

func check(f bundle.File) *RefusedError {
	refuse := func(line int, text string) *RefusedError { return &RefusedError{f.Path, line, text} }
	if f.Path == "" || strings.ContainsAny(f.Path, "\n\x00\"\\") || path.Clean(f.Path) != f.Path || path.IsAbs(f.Path) || strings.HasPrefix(f.Path, "../") {
		return refuse(0, "a path that a Git repository of a bundle cannot have")
	}
	parts := strings.Split(strings.ToLower(f.Path), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case part == ".git" && last && i == 0:
			return refuse(0, "the directory is a worktree or a submodule of another repository, whose address this file has; copy its files, without this one, to another directory")
		case part == ".git" && last, part == ".gitmodules":
			return refuse(0, "the repository has a submodule, which is another repository that no controller here fetches; copy its files into the bundle")
		case part == ".git" && parts[i+1] == "hooks", part == ".githooks":
			return refuse(0, "the repository has a hook, which is a program of a stranger; no hook is pushed or run: remove it")
		case part == ".git":
			return refuse(0, "the bundle has the directory of another Git repository in it, which cannot be pushed; remove it")
		case part == ".lfsconfig":
			return refuse(0, lfsText)
		case part == ".gitattributes" && last:
			for n, line := range strings.Split(string(f.Content), "\n") {
				if strings.Contains(line, "filter=") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
					if strings.Contains(line, "filter=lfs") {
						return refuse(n+1, lfsText)
					}
					return refuse(n+1, "the repository has a filter, which is a program that a Git client would run; remove it")
				}
			}
		}
	}
	if bytes.HasPrefix(f.Content, []byte(lfsPointer)) {
		return refuse(1, lfsText)
	}
	return nil
}

const lfsText = "the repository uses Git LFS, whose files are on another server that no controller here asks; put the files themselves into the bundle"
