package intake

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
)

// checkGit refuses a bundle that would be deployed without a part of it from a Git repository, or
// that brings programs: submodules, Git LFS, hooks. The directory may be a clone; what is in its
// .git is not part of the bundle, except that hooks are a reason to ask its maker.
func (t *tree) checkGit() error {
	var files []bundle.File
	for _, name := range t.names() {
		files = append(files, t.files[name])
	}
	var refused *publish.RefusedError
	if err := publish.CheckGit(files); errors.As(err, &refused) {
		return t.bad(refused.Path, refused.Line, "%s", refused.Text)
	} else if err != nil {
		return err
	}
	hooks, err := os.ReadDir(filepath.Join(t.dir, ".git", "hooks"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the bundle's .git: %w", err)
	}
	for _, hook := range hooks {
		if !strings.HasSuffix(hook.Name(), ".sample") {
			return t.bad(path.Join(".git", "hooks", hook.Name()), 0, "the repository has a hook, which is a program of a stranger; no hook is pushed or run: remove it")
		}
	}
	return nil
}
