package matrix

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// git runs git in dir, with the author's name of a test.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func overlay(name string) string {
	return "kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: {name: " + name + "}\nspec:\n  criteria: {service: eks}\n  componentRefs: []\n"
}

const fromBase = "kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: {name: base}\nspec:\n  componentRefs: []\n"

const registry = "kind: ComponentRegistry\napiVersion: aicr.nvidia.com/v1alpha1\ncomponents: []\n"

// history is a repository with two commits: v1 has the recipes old and eks, main has eks only. The
// working tree and the index have changes of their own.
func history(t *testing.T) (dir, v1, main string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	write(t, dir, map[string]string{
		"README.md": "x\n", "recipes/registry.yaml": registry, "recipes/overlays/base.yaml": fromBase, "recipes/overlays/eks.yaml": overlay("eks"),
		"recipes/overlays/old.yaml": overlay("old"), "kwok/charts/a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n",
	})
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "one")
	git(t, dir, "tag", "v1")
	v1 = git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "rm", "--quiet", "recipes/overlays/old.yaml")
	git(t, dir, "commit", "--quiet", "--message", "two")
	write(t, dir, map[string]string{"recipes/overlays/new.yaml": overlay("new"), "recipes/overlays/eks.yaml": overlay("eks") + "# changed\n", "staged": "y\n"})
	git(t, dir, "add", "staged")
	return dir, v1, git(t, dir, "rev-parse", "HEAD")
}

func none(string) string { return "" }

func open(t *testing.T, text, recipes string, getenv func(string) string) (*FromSource, error) {
	t.Helper()
	return FromRequest{Text: text, RecipesDir: recipes, Into: t.TempDir(), Getenv: getenv}.Open(t.Context())
}

// An app's source is its path in a commit, with the clone's remotes, or any path that exists.
func TestOpenApp(t *testing.T) {
	dir, v1, _ := history(t)
	git(t, dir, "remote", "add", "origin", "https://user:secret@example.com/team/apps.git")
	app := filepath.Join(dir, "kwok", "charts", "a")
	ask := func(text string) (*FromSource, error) {
		return FromRequest{Text: text, RecipesDir: app, App: app, Into: t.TempDir(), Getenv: none}.Open(t.Context())
	}
	s, err := ask("v1")
	if err != nil || s.Commit != v1 || !strings.HasSuffix(s.App, "kwok/charts/a") {
		t.Fatalf("got %+v, %v", s, err)
	}
	if _, err := os.Stat(filepath.Join(s.App, "Chart.yaml")); err != nil {
		t.Error(err)
	}
	settings, err := os.ReadFile(filepath.Join(s.App, "..", "..", "..", ".git", "config"))
	if err != nil || !strings.Contains(string(settings), "team/apps.git") {
		t.Errorf("got %s, %v", settings, err)
	}
	if s, err = ask(app); err != nil || s.App != app || s.Commit != "" {
		t.Errorf("a path: got %+v, %v", s, err)
	}
	git(t, dir, "rm", "--quiet", "-r", "kwok")
	git(t, dir, "commit", "--quiet", "--message", "three")
	write(t, dir, map[string]string{"kwok/charts/a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 2.0.0\n"})
	if _, err := ask("main"); err == nil || !strings.Contains(err.Error(), "has no "+app) {
		t.Errorf("a commit without the app: got %v", err)
	}
}

// A Git ref gives the commit's files, not the working tree's, and changes neither that nor the index.
func TestOpenRef(t *testing.T) {
	dir, v1, main := history(t)
	recipes := filepath.Join(dir, "recipes")
	before := git(t, dir, "status", "--porcelain") + git(t, dir, "ls-files", "--stage")
	event := filepath.Join(t.TempDir(), "event.json")
	write(t, filepath.Dir(event), map[string]string{"event.json": `{"pull_request":{"number":7,"base":{"sha":"` + v1 + `","ref":"main"}}}`})
	pull := map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": event}
	for name, tc := range map[string]struct {
		text, commit, want string
		lacks              []string
		getenv             func(string) string
	}{
		"tag":    {"v1", v1, "base eks old", nil, none},
		"branch": {"main", main, "base eks", []string{"old", "new"}, none},
		"id":     {v1[:10], v1, "base eks old", nil, none},
		"full":   {"refs/heads/main", main, "base eks", nil, none},
		"base":   {FromBase, v1, "base eks old", nil, func(key string) string { return pull[key] }},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t, tc.text, recipes, tc.getenv)
			if err != nil {
				t.Fatal(err)
			}
			store, err := recipe.Open(os.DirFS(s.Recipes), s.Recipes)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(store.Names(), " "); got != tc.want || s.Commit != tc.commit || s.Name != tc.text {
				t.Errorf("got recipes %q of %s (%s), want %q of %s", got, s.Commit, s.Name, tc.want, tc.commit)
			}
			if raw, err := os.ReadFile(filepath.Join(s.Recipes, "overlays", "eks.yaml")); err != nil || strings.Contains(string(raw), "changed") {
				t.Errorf("the working tree's file was read: %v\n%s", err, raw)
			}
			if _, err := os.Stat(filepath.Join(s.Charts, "a", "Chart.yaml")); err != nil {
				t.Errorf("the commit's charts: %v", err)
			}
			for _, lacking := range tc.lacks {
				var no *noRecipeError
				if err := s.Has(store, lacking); !errors.As(err, &no) || !strings.Contains(err.Error(), "it has: base, eks") {
					t.Errorf("recipe %s: got %v", lacking, err)
				}
			}
			if err := s.Has(store, "eks"); err != nil {
				t.Error(err)
			}
		})
	}
	if after := git(t, dir, "status", "--porcelain") + git(t, dir, "ls-files", "--stage"); after != before {
		t.Errorf("the working tree or the index changed:\n%s\nwas\n%s", after, before)
	}
}

// All of a commit's files are written where AICR's CLI is built from them, without links.
func TestOpenWhole(t *testing.T) {
	dir, _, _ := history(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "link")
	git(t, dir, "commit", "--quiet", "--message", "a link")
	s, err := FromRequest{Text: "main", RecipesDir: filepath.Join(dir, "recipes"), Into: t.TempDir(), Whole: true, Getenv: none}.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(s.Recipes)
	for _, name := range []string{"README.md", "recipes/registry.yaml", "staged"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "link")); err == nil {
		t.Error("the link was written")
	}
}

// Directories of the change, e.g. of its charts, are those of the source before: with the new charts
// as the old ones, an upgrade would change nothing.
func TestOpenOlder(t *testing.T) {
	dir, v1, _ := history(t)
	charts, data, outside := filepath.Join(dir, "my", "charts"), filepath.Join(dir, "data"), t.TempDir()
	write(t, dir, map[string]string{"my/charts/a/values.yaml": "old: 1\n"})
	git(t, dir, "add", "my")
	git(t, dir, "commit", "--quiet", "--message", "charts")
	checkout := filepath.Join(t.TempDir(), "checkout")
	git(t, filepath.Dir(checkout), "clone", "--quiet", "file://"+dir, checkout)
	write(t, dir, map[string]string{"my/charts/a/values.yaml": "new: 1\n", "data/registry.yaml": registry})
	into := t.TempDir()
	for name, tc := range map[string]struct {
		from, charts string
		values       []string // of --charts
		data         string
	}{
		"a ref":                  {"main", filepath.Join(into, "my", "charts"), []string{filepath.Join(into, "my", "charts"), charts, "simulated", outside}, ""},
		"a ref without":          {v1, "", []string{charts, "simulated", outside}, ""},
		"a checkout":             {checkout, filepath.Join(checkout, "my", "charts"), []string{filepath.Join(checkout, "my", "charts"), charts, "simulated", outside}, data},
		"the same checkout":      {dir, charts, []string{charts, "simulated", outside}, data},
		"recipes without charts": {filepath.Join(checkout, "recipes"), "", []string{charts, "simulated", outside}, data},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := FromRequest{Text: tc.from, RecipesDir: filepath.Join(dir, "recipes"), Into: into, Dirs: []string{charts, data, outside}, Getenv: none}.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := s.ChartsFor([]string{charts, "simulated", outside}); !slices.Equal(got, tc.values) || s.DataFor(data) != tc.data || s.DataFor(outside) != outside {
				t.Errorf("got charts %q and data %q, want %q and %q", got, s.DataFor(data), tc.values, tc.data)
			}
			if raw, err := os.ReadFile(filepath.Join(s.ChartsFor([]string{charts})[0], "a", "values.yaml")); tc.charts != "" && tc.charts != charts && (err != nil || string(raw) != "old: 1\n") {
				t.Errorf("the old charts: got %q, %v", raw, err)
			}
		})
	}
}

// A branch that only the remote has is found, as in the clone of a CI system.
func TestOpenRemoteBranch(t *testing.T) {
	dir, v1, _ := history(t)
	git(t, dir, "branch", "release", v1)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, filepath.Dir(clone), "clone", "--quiet", "file://"+dir, clone)
	if s, err := open(t, "release", filepath.Join(clone, "recipes"), none); err != nil || s.Commit != v1 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestOpenBadInput(t *testing.T) {
	dir, v1, _ := history(t)
	recipes := filepath.Join(dir, "recipes")
	shallow := filepath.Join(t.TempDir(), "shallow")
	git(t, filepath.Dir(shallow), "clone", "--quiet", "--depth=1", "--no-tags", "file://"+dir, shallow)
	outside := t.TempDir()
	write(t, outside, map[string]string{"registry.yaml": registry, "overlays/base.yaml": fromBase})
	git(t, dir, "checkout", "--quiet", "--orphan", "empty")
	git(t, dir, "rm", "--quiet", "-r", "-f", "--cached", ".")
	git(t, dir, "commit", "--quiet", "--allow-empty", "--message", "nothing")
	git(t, dir, "checkout", "--quiet", "--force", "main")
	link := t.TempDir()
	git(t, link, "init", "--quiet", "--initial-branch=main")
	write(t, link, map[string]string{"recipes/registry.yaml": registry, "recipes/overlays/base.yaml": fromBase})
	if err := os.Symlink("../../secret", filepath.Join(link, "recipes", "values.yaml")); err != nil {
		t.Fatal(err)
	}
	git(t, link, "add", "--all")
	git(t, link, "commit", "--quiet", "--message", "a link")
	file := filepath.Join(outside, "registry.yaml")
	for name, tc := range map[string]struct {
		text, recipes string
		want          []string
	}{
		"no such ref":             {"v9", recipes, []string{"--from v9", `no branch, tag or commit "v9"`, "main", "v1"}},
		"like an option":          {"--output=x", recipes, []string{"is not the name of a commit"}},
		"shallow":                 {v1, filepath.Join(shallow, "recipes"), []string{"shallow", "git fetch --tags --unshallow origin", "fetch-depth: 0"}},
		"recipes are not in git":  {"main", outside, []string{"--from main", "not a git repository"}},
		"recipes in the binary":   {"main", "", []string{"--recipes-dir DIR"}},
		"no recipes in it":        {"empty", recipes, []string{"has no directory recipes"}},
		"no such directory":       {"../gone-elsewhere", recipes, []string{"there is no such directory"}},
		"a file":                  {file, recipes, []string{"is a file; give the directory"}},
		"nothing in it":           {t.TempDir(), recipes, []string{"no recipes", "no bundle", "no kept cells"}},
		"empty":                   {" ", recipes, []string{"--from is empty"}},
		"no pull request":         {FromBase, recipes, []string{"--from base", "no pull request"}},
		"a link out of the files": {"main", filepath.Join(link, "recipes"), []string{"recipes/values.yaml", "link to ../../secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t, tc.text, tc.recipes, none)
			if err == nil {
				t.Fatalf("got %+v", s)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
	t.Chdir(dir)
	git(t, dir, "branch", "recipes")
	if s, err := open(t, "recipes", recipes, none); err == nil || !strings.Contains(err.Error(), "refs/heads/recipes") {
		t.Errorf("a directory and a branch: got %+v, %v", s, err)
	}
	if s, err := open(t, "./recipes", recipes, none); err != nil || s.Recipes != "./recipes" {
		t.Errorf("the directory: got %+v, %v", s, err)
	}
}

// A directory is what its files say; recipes in a format that only their own CLI reads are said to be
// that.
func TestOpenDirectory(t *testing.T) {
	checkout, _, _ := history(t)
	bundle, kept, old := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, bundle, map[string]string{"checksums.txt": "\n", "recipe.yaml": "{}\n"})
	cell := func(deployer string, status result.Status) string {
		raw, err := json.Marshal(result.Result{Cell: result.Cell{Recipe: "eks", Deployer: deployer}, Verdict: result.Verdict{Status: status}, Rendered: []result.Chart{{Component: "a", Digest: "sha256:1"}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	write(t, kept, map[string]string{
		"a/cell.json": cell("helm", result.Passed), "a/bundle/deploy.sh": "", "b/cell.json": cell("flux-oci", result.Failed), "b/bundle/x": "",
		"c/cell.json": cell("argocd-oci", result.Passed), "c/bundle/x": "", "c/bundle-original/x": "", "d/cell.json": cell("argocd-git", result.Passed),
		"0/cell.json": `{"recipe": "eks", "deployer": "helm", "from": "older", "status": "passed"}`, "0/bundle/x": "",
	})
	write(t, old, map[string]string{"registry.yaml": registry, "overlays/base.yaml": fromBase, "overlays/eks.yaml": overlay("eks") + "  somethingOld: 1\n"})
	for name, tc := range map[string]struct{ dir, recipes, bundle, kept string }{
		"checkout":   {checkout, filepath.Join(checkout, "recipes"), "", ""},
		"recipes":    {old, old, "", ""},
		"bundle":     {bundle, "", bundle, ""},
		"kept":       {kept, "", "", kept},
		"a kept one": {filepath.Join(kept, "a"), "", "", filepath.Join(kept, "a")},
	} {
		if s, err := open(t, tc.dir, "", none); err != nil || s.Recipes != tc.recipes || s.Bundle != tc.bundle || s.Kept != tc.kept {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
	}
	s, err := open(t, old, "", none)
	if err != nil {
		t.Fatal(err)
	}
	var format *oldFormatError
	_, err = recipe.Open(os.DirFS(s.Recipes), s.Recipes)
	if err == nil {
		t.Fatal("an old format was read")
	}
	if err := s.Unreadable(err); !errors.As(err, &format) || !strings.Contains(err.Error(), "--from-aicr PATH, the CLI of the old recipes") || !strings.Contains(err.Error(), "eks.yaml:7") {
		t.Errorf("an old format: got %v", err)
	}
	if s, err = open(t, kept, "", none); err != nil {
		t.Fatal(err)
	}
	for deployer, want := range map[string]string{
		"helm": filepath.Join(kept, "a", "bundle"), "argocd-oci": filepath.Join(kept, "c", "bundle-original"),
		"flux-oci": "did not pass (failed)", "argocd-git": "has no bundle", "helmfile": "has no kept cell eks/helmfile; it has: eks/argocd-git, eks/argocd-oci, eks/flux-oci, eks/helm, eks/helm from older",
	} {
		got, recorded, err := s.BundleOf(result.Cell{Recipe: "eks", Deployer: deployer})
		if err != nil {
			got = err.Error()
		}
		if err == nil && (len(recorded) != 1 || recorded[0].Digest != "sha256:1") {
			t.Errorf("%s: got the charts %v, want those of cell.json", deployer, recorded)
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", deployer, got, want)
		}
	}
}

// A source with many recipes has a few of them in the message, and the one that is nearest.
func TestNoRecipe_Many(t *testing.T) {
	has := []string{"h100-eks-training"}
	for i := range 100 {
		has = append(has, "recipe-"+strconv.Itoa(i))
	}
	got := (&noRecipeError{Source: "main", Recipe: "h100-eks-trainin", Has: has}).Error()
	if want := `and 89 more; did you mean "h100-eks-training"?`; !strings.HasSuffix(got, want) || len(got) > 400 {
		t.Errorf("got %s\nwant it to end with %s", got, want)
	}
}

// A name that a file or directory has as well is refused, with the ref's whole name.
func TestOpen_AlsoARef(t *testing.T) {
	dir, v1, _ := history(t)
	git(t, dir, "tag", "both-tag", v1)
	git(t, dir, "branch", "both-branch", v1)
	here := t.TempDir()
	t.Chdir(here)
	write(t, here, map[string]string{"both-tag": "", "both-branch/x": "", v1 + "/x": ""})
	for text, want := range map[string]string{"both-tag": "is a file and also a Git ref; write refs/tags/both-tag for the ref", "both-branch": "./both-branch for the directory, or refs/heads/both-branch for the ref", v1: "is a directory and also a Git ref"} {
		if _, err := open(t, text, filepath.Join(dir, "recipes"), none); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if s, err := open(t, "refs/tags/both-tag", filepath.Join(dir, "recipes"), none); err != nil || s.Commit != v1 {
		t.Errorf("got %+v, %v", s, err)
	}
}
