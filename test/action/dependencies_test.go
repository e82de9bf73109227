package action_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// docs/contributing/dependencies.md says for each library that go.mod requires how it is used, and names no
// other library. In a row with several of one organization, the others have their last names only.
func TestDependenciesDocument(t *testing.T) {
	raw, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/contributing/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n## Libraries of the harness (`go.mod`)\n")
	if table, _, _ = strings.Cut(table, "\n### "); !found || table == "" {
		t.Fatal("docs/contributing/dependencies.md has no table of the libraries")
	}
	var named []string
	for _, row := range strings.Split(table, "\n") {
		if cells := strings.Split(row, "|"); len(cells) > 2 {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
				named = append(named, name[1])
			}
		}
	}
	has := func(names []string, p string) bool {
		short, _, _ := module.SplitPathVersion(p)
		return slices.ContainsFunc(names, func(n string) bool { return n == p || n == short || n == filepath.Base(short) })
	}
	var direct []string
	for _, r := range mod.Require {
		if r.Indirect {
			continue
		}
		short, _, _ := module.SplitPathVersion(r.Mod.Path)
		direct = append(direct, r.Mod.Path, short, filepath.Base(short))
		if !has(named, r.Mod.Path) {
			t.Errorf("docs/contributing/dependencies.md does not say what %s is for", r.Mod.Path)
		}
	}
	if len(direct) < 60 || len(named) < 20 {
		t.Fatalf("only %d libraries in go.mod and %d in the table were found", len(direct)/3, len(named))
	}
	for _, n := range named {
		if !slices.Contains(direct, n) {
			t.Errorf("docs/contributing/dependencies.md has %s, which go.mod does not ask for", n)
		}
	}
}
