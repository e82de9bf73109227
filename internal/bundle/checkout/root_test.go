package checkout

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files writes files below a directory; a name that ends in a slash is a directory, "-> x" a link to x.
func files(t *testing.T, dir string, all map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range all {
		file := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		to, link := strings.CutPrefix(text, "-> ")
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(file, 0o755)
		case link:
			err = os.Symlink(to, file)
		default:
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What an app may read is the checkout around it, or else its own directory, and not the working
// directory, a home or a directory of all users, whatever .git is there.
func TestOpen_Root(t *testing.T) {
	for name, c := range map[string]struct {
		files            map[string]string
		at, root, shared string
		sticky           bool
	}{
		"a directory in no clone":          {map[string]string{"get/app/a.yaml": ""}, "get/app", "get/app", "", false},
		"a file in no clone":               {map[string]string{"get/app/a.yaml": ""}, "get/app/a.yaml", "get/app", "", false},
		"a clone":                          {map[string]string{"get/.git/HEAD": "", "get/app/a.yaml": ""}, "get/app", "get", "", false},
		"a worktree or submodule":          {map[string]string{".git/HEAD": "", "get/.git": "gitdir: ../.git/modules/get\n", "get/app/a.yaml": ""}, "get/app", "get", "", false},
		"a repository of dotfiles":         {map[string]string{"home/.git/HEAD": "", "home/get/app/a.yaml": ""}, "home/get/app", "home/get/app", "", false},
		"a clone in one of dotfiles":       {map[string]string{"home/.git/HEAD": "", "home/get/.git/HEAD": "", "home/get/app/a.yaml": ""}, "home/get/app", "home/get", "", false},
		"a repository above the home":      {map[string]string{".git/HEAD": "", "home/get/a.yaml": ""}, "home/get", "home/get", "", false},
		"a .git where each user may write": {map[string]string{"get/.git/HEAD": "", "get/app/a.yaml": ""}, "get/app", "get/app", "", true},
		"a file in the home":               {map[string]string{"home/a.yaml": ""}, "home/a.yaml", "home", "your home directory: an app may read all files of its directory, so put it into one of its own", false},
		"a file in a clone that is home":   {map[string]string{"home/.git/HEAD": "", "home/a.yaml": ""}, "home/a.yaml", "home", "your home directory", false},
		"a file above the home":            {map[string]string{"home/": "", "a.yaml": ""}, "a.yaml", "", "which has your home directory in it", false},
		"a file where each user may write": {map[string]string{"get/a.yaml": ""}, "get/a.yaml", "get", "where each user may create files", true},
		"the home, as the user says":       {map[string]string{"home/a.yaml": ""}, "home", "home", "", false},
	} {
		dir := files(t, t.TempDir(), c.files)
		t.Setenv("HOME", filepath.Join(dir, "home"))
		t.Chdir(dir)
		if c.sticky {
			if err := os.Chmod(filepath.Join(dir, "get"), 0o777|os.ModeSticky); err != nil {
				t.Fatal(err)
			}
		}
		r, _, err := Open(filepath.Join(dir, c.at))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := filepath.Join(dir, c.root); r.Root != want {
			t.Errorf("%s: the root is %s, want %s", name, r.Root, want)
		}
		if clone := strings.HasPrefix(name, "a clone") || strings.HasPrefix(name, "a worktree"); clone != (r.Only() == "") {
			t.Errorf("%s: says %q", name, r.Only())
		}
		if err := r.Shared(); (c.shared == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.shared) {
			t.Errorf("%s: got %v, want %q", name, err, c.shared)
		}
	}
}

// Git's own files, with the logins that they may have, are not part of a checkout.
func TestOpen_GitsOwn(t *testing.T) {
	dir := files(t, t.TempDir(), map[string]string{
		".git/config": "token", "sub/.git": "gitdir: x", "sub/a.yaml": "", "near": "-> .git", "far": "-> ./sub/../near", "loop": "-> loop", "out": "-> ..", "dir": "-> sub", "file": "-> .git/config", ".github/a.yaml": "",
	})
	r, _, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git/config", ".GIT/config", "near/config", "far/config", "file", "sub/.git", "dir/.git", "dir/../near/config", "loop", "loop/x", "out/x"} {
		if text, err := r.Read(name); err == nil {
			t.Errorf("%s: read %q", name, text)
		}
		if text, err := fs.ReadFile(r.FSys, name); err == nil {
			t.Errorf("%s: read %q", name, text)
		}
		if r.Has(name) {
			t.Errorf("%s exists", name)
		}
	}
	for _, name := range []string{".git", "near", "far"} {
		if entries, err := fs.ReadDir(r.FSys, name); err == nil {
			t.Errorf("%s: read %v", name, entries)
		}
	}
	for _, name := range []string{"sub/a.yaml", "dir/a.yaml", ".github/a.yaml"} {
		if !r.Has(name) {
			t.Errorf("%s does not exist", name)
		}
	}
	all, err := r.Walk(".", nil)
	if got := strings.Join(all, " "); err != nil || got != ".github/a.yaml dir far file loop near out sub/a.yaml" {
		t.Errorf("got %s, %v", got, err)
	}
}
