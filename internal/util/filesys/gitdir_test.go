package filesys

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTop(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/.git", "a/b/c", "d"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "d", ".git"), []byte("gitdir: x\n"), 0o600); err != nil { // of a worktree
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "a", "b"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"a": "a", "a/b/c": "a", "link/c": "a", "d": "d", "a/absent": "a"} {
		if got := GitTop(filepath.Join(root, dir)); got != filepath.Join(root, want) {
			t.Errorf("%s: got %q, want %s", dir, got, want)
		}
	}
	if got := GitTop(root); got != "" {
		t.Errorf("outside of any: got %q", got)
	}
}
