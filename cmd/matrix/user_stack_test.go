package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// nobody is the user and group that every Linux has for programs without rights.
const nobody = 65534

// GitHub's runner is an ordinary user, and root may remove what an ordinary user may not. One cell
// of each family passes as such a user, and nothing of the run stays.
func TestRun_OtherUser(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	dir := infratest.ShortTempDir(t)
	recipes := ownRecipe(t, "8080")
	p := newProgram(t, buildProgram(t), paths)
	if os.Geteuid() == 0 { // otherwise this test is itself an ordinary user's
		p.paths = host.Paths{Root: filepath.Join(dir, "cache")}
		p.bin = filepath.Join(dir, "matrix")
		p.user = &syscall.Credential{Uid: nobody, Gid: nobody}
		share(t, buildProgram(t), p.bin)
		share(t, paths.Stack(), p.paths.Stack())
		for _, d := range []string{dir, p.paths.Root} {
			if err := os.Chown(d, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range []string{dir, recipes, filepath.Dir(recipes)} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	ran := p.run(t, 5*time.Minute, []string{"AICR_ACTION_RECIPES_DIR=", "HOME=" + dir}, "run", "own", "--recipes-dir", recipes,
		"--deployer", strings.Join([]string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI}, ","), "--artifacts", filepath.Join(dir, "artifacts"))
	ran.want(t, 0)
	if left, err := filepath.Glob(filepath.Join(p.paths.Root, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("the run left %q in its cache (%v)", left, err)
	}
}

// share makes a file, or a directory with all that is below it, readable at another path for every
// user: by hard links where the file system can, as the stack has a gigabyte.
func share(t *testing.T, from, to string) {
	t.Helper()
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if os.Link(path, target) == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, info.Mode().Perm())
	}); err != nil {
		t.Fatalf("share %s with user %s: %v", from, strconv.Itoa(nobody), err)
	}
}
