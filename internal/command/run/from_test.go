package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// The charts and further recipe files that --charts and --data name are those of the old commit
// before the upgrade: with the new ones, a change in them would be none.
func TestFromOlderDirectories(t *testing.T) {
	recipes := fewRecipes(t)
	top := filepath.Dir(recipes)
	charts, data := filepath.Join(top, "charts"), filepath.Join(top, "data")
	put := func(file, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	registry, err := os.ReadFile(filepath.Join(recipes, "registry.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(charts, "a", "Chart.yaml"), "apiVersion: v2\nname: a\nversion: 1.0.0\n")
	put(filepath.Join(data, "registry.yaml"), string(registry))
	put(filepath.Join(data, "components", "cert-manager", "values.yaml"), "old: 1\n")
	git(t, top, "init", "--quiet", "--initial-branch=main")
	git(t, top, "add", "--all")
	git(t, top, "commit", "--quiet", "--message", "one")
	put(filepath.Join(data, "components", "cert-manager", "values.yaml"), "new: 1\n")
	a := &app{App: cli.New(func(name string) string { return map[string]string{"AICR_ACTION_CACHE": t.TempDir()}[name] }, &strings.Builder{}, &strings.Builder{})}
	if err := a.Open(); err != nil {
		t.Fatal(err)
	}
	this, err := a.prepareRun(t.Context(), []string{"eks"}, runFlags{
		deployers: []string{"helm"}, before: fromFlags{from: "main"}, sourceFlags: sourceFlags{charts: []string{charts, cli.Simulated}, recipes: cli.RecipeDirs{Recipes: recipes, Data: data}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer this.close()
	values := func(files fs.FS) string {
		text, err := fs.ReadFile(files, "components/cert-manager/values.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	old, _ := this.runner.From.Store.FS()
	next, _ := this.runner.Store.FS()
	if values(old) != "old: 1\n" || values(next) != "new: 1\n" {
		t.Errorf("the values of --data: got %q before the upgrade and %q after it", values(old), values(next))
	}
	before, after := this.runner.From.Charts.Name(), this.runner.Charts.Name()
	if !strings.Contains(before, "matrix-from-") || !strings.Contains(before, charts) || strings.Contains(after, "matrix-from-") {
		t.Errorf("the charts: got %s before the upgrade and %s after it", before, after)
	}
}

// With AICR's CLI as the bundler, the CLI of the old commit makes the old bundles.
func TestFromCheckout(t *testing.T) {
	recipes := fewRecipes(t)
	top := filepath.Dir(recipes)
	program := func(version string) {
		t.Helper()
		for name, text := range map[string]string{"go.mod": "module github.com/NVIDIA/aicr\n\ngo 1.24\n", "cmd/aicr/main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"aicr version " + version + "\") }\n"} {
			file := filepath.Join(top, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	program("0.12.1")
	git(t, top, "init", "--quiet", "--initial-branch=main")
	git(t, top, "add", "--all")
	git(t, top, "commit", "--quiet", "--message", "the old CLI")
	program("0.13.5")
	a := &app{App: cli.New(func(name string) string { return map[string]string{"AICR_ACTION_CACHE": t.TempDir()}[name] }, &strings.Builder{}, &strings.Builder{})}
	if err := a.Open(); err != nil {
		t.Fatal(err)
	}
	this, err := a.prepareRun(t.Context(), []string{"eks"}, runFlags{
		deployers: []string{"helm"}, before: fromFlags{from: "main"}, sourceFlags: sourceFlags{charts: []string{cli.Simulated}, recipes: cli.RecipeDirs{Recipes: recipes}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer this.close()
	next, isExec := this.runner.Bundler.(*intake.Exec)
	old, wasExec := this.runner.From.Bundler.(*intake.Exec)
	for _, e := range []*intake.Exec{old, next} { // each builds its CLI when it is first asked
		_, err = e.Likeness(t.Context(), bundle.Input{Recipe: &recipe.Result{}}, t.TempDir())
		t.Logf("the CLI knows no more than its version: %v", err)
	}
	if !isExec || !wasExec || old.Version() != "0.12.1" || next.Version() != "0.13.5" {
		t.Errorf("got %+v for the old bundles and %+v for the new ones", this.runner.From.Bundler, this.runner.Bundler)
	}
	if len(this.plans) != 2 || this.plans[1].Cell.From != "main" {
		t.Errorf("got %d plans", len(this.plans))
	}
}
