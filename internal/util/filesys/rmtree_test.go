package filesys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// As root, every directory can be listed: TestRun_OtherUser in cmd/matrix runs this code as an
// ordinary user.
func TestAll_DirectoriesWithoutRights(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	outside := filepath.Join(t.TempDir(), "outside")
	for _, d := range []string{filepath.Join(dir, "argocd", "tmp", "_argocd-repo", "x"), outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(outside, 0o500); err != nil {
		t.Fatal(err)
	}
	for d, mode := range map[string]fs.FileMode{"argocd/tmp/_argocd-repo": 0o300, "argocd": 0o500} {
		if err := os.Chmod(filepath.Join(dir, d), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := giveRights(dir); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"argocd", "argocd/tmp/_argocd-repo"} {
		info, err := os.Stat(filepath.Join(dir, d))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: got %v, %v; want mode 0700", d, info, err)
		}
	}
	if err := RemoveTree(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("a directory that a link leads to was changed: %v, %v", info, err)
	}
	if err := RemoveTree(dir); err != nil {
		t.Errorf("an absent directory: %v", err)
	}
}
