package discover

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A pull request can contain the files of a repository without .git: git run beside them would use
// their config, which names programs.
func TestOpenRepo_RepositoryAmongFiles(t *testing.T) {
	p := newProject(t)
	marker := filepath.Join(t.TempDir(), "ran")
	recipes := filepath.Join(p.dir, "recipes")
	p.write("recipes/.gitattributes", "* filter=evil\n")
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "objects/info/kept": "", "refs/kept": "",
		"config": "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = " + recipes + "\n[filter \"evil\"]\nclean = touch " + marker + "; cat\n",
	} {
		p.write("recipes/"+name, text)
	}
	// What changed is compared with the index, through the filter.
	index := filepath.Join(recipes, "index")
	p.gitIn(recipes, []string{"GIT_DIR=" + recipes, "GIT_INDEX_FILE=" + index}, "add", "registry.yaml")
	_ = os.Remove(marker)
	raw, err := os.ReadFile(filepath.Join(recipes, "registry.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("recipes/registry.yaml", strings.ToUpper(string(raw)))

	repo, err := OpenRepo(t.Context(), recipes, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.changed(t.Context(), "HEAD", "recipes/"); err != nil {
		t.Error(err)
	}
	if want, err := filepath.EvalSymlinks(p.dir); err != nil || repo.Top != want {
		t.Errorf("got the working tree %s, want %s (%v)", repo.Top, want, err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program that the recipes name was run")
	}
}
