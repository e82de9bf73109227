package matrix

// from.go opens the source of an upgrade: what runs in a cluster before a change is delivered.
// That is a commit of the recipes' Git repository, another recipes directory, a bundle, or what an
// earlier run of this program kept. It reads Git's objects only: the user's working tree and index
// stay as they are.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/discover"
)

// FromBase is the name of the pull request's base as a source.
const FromBase = "base"

// chartsDir is where a repository may have the charts of its recipes, which change with them.
const chartsDir = "kwok/charts/"

// FromSource is an opened source. One of Recipes, Bundle, Kept and App is set.
type FromSource struct {
	// Name is the source as the user wrote it, e.g. "main" or "../old".
	Name string
	// Commit is the full id of a Git ref's commit; empty otherwise. Of says, for people, how it was
	// found.
	Commit, Of string
	// Recipes is a directory of recipes; of a Git ref, a copy of the commit's files. Charts is the
	// directory of charts that the same commit has; empty if it has none.
	Recipes, Charts string
	// Older are directories of the change and what the source has in their place: see Request.Dirs.
	// "" is one that a commit does not have.
	Older map[string]string
	// Bundle is the directory of a bundle.
	Bundle string
	// Kept is the directory in which a run kept its cells' files (--artifacts).
	Kept string
	// App is the path of an older app.
	App string
}

// FromRequest says what to open.
type FromRequest struct {
	Text       string // a Git ref, "base", or a directory
	RecipesDir string // the recipes of the change, or the directory of its app: their repository has the ref
	App        string // the path of the app that is upgraded; empty for recipes and bundles
	Into       string // an existing directory, for a commit's files
	// Dirs are further directories of the change, e.g. of its charts, that may change with its recipes.
	Dirs []string
	// Whole: of a Git ref, all files are written, and not only the recipes and charts: AICR's CLI is
	// built from them.
	Whole bool
	// Base is the commit or branch whose merge base is the source "base"; empty: the CI system's.
	Base string
	// Getenv reads the CI system's environment, which says what a pull request's base is.
	Getenv func(string) string
}

// Open opens the source. A directory is what exists as one; any other text is a Git ref. A name that
// could be both is an error.
func (r FromRequest) Open(ctx context.Context) (*FromSource, error) {
	if strings.TrimSpace(r.Text) == "" {
		return nil, errors.New("--from is empty: give a Git branch or tag, base, or a directory of recipes, a bundle or kept files")
	}
	if r.Text == FromBase {
		return r.openGit(ctx)
	}
	info, err := os.Stat(r.Text)
	switch path := isPath(r.Text); {
	case err == nil && r.App != "" && (path || r.ref(ctx) == ""):
		return &FromSource{Name: r.Text, App: r.Text}, nil
	case err == nil && !info.IsDir():
		if ref := r.ref(ctx); ref != "" && !path {
			return nil, fmt.Errorf("--from %s is a file and also a Git ref; write %s for the ref, or give the directory of a recipe, a bundle or kept files (--artifacts)", r.Text, ref)
		}
		return nil, fmt.Errorf("--from %s is a file; give the directory of a recipe, a bundle or kept files (--artifacts)", r.Text)
	case err == nil && path:
		return r.openDir(r.Text)
	case err == nil:
		if ref := r.ref(ctx); ref != "" {
			return nil, fmt.Errorf("--from %s is a directory and also a Git ref; write .%c%s for the directory, or %s for the ref", r.Text, filepath.Separator, r.Text, ref)
		}
		return r.openDir(r.Text)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--from %s: %w", r.Text, err)
	case strings.HasPrefix(r.Text, ".") || filepath.IsAbs(r.Text):
		return nil, fmt.Errorf("--from %s: there is no such directory", r.Text)
	}
	return r.openGit(ctx)
}

// isPath reports whether a text that exists as a directory cannot be meant as a branch or tag.
func isPath(text string) bool {
	return strings.HasPrefix(text, ".") || filepath.IsAbs(text) || strings.HasSuffix(text, "/")
}

// ref is the unmistakable name of the branch, tag or commit that the text names, too; empty if it names none,
// or if there is no repository.
func (r FromRequest) ref(ctx context.Context) string {
	repo, err := r.repo(ctx)
	if err != nil {
		return ""
	}
	for _, kind := range []string{"refs/heads/", "refs/tags/", "refs/remotes/"} {
		if _, err := repo.Tip(ctx, kind+r.Text); err == nil {
			return kind + r.Text
		}
	}
	if commit, err := repo.Tip(ctx, r.Text); err == nil {
		return commit
	}
	return ""
}

func (r FromRequest) repo(ctx context.Context) (*discover.Repo, error) {
	workspace := ""
	if r.Getenv("GITHUB_ACTIONS") == "true" {
		workspace = r.Getenv("GITHUB_WORKSPACE")
	}
	return discover.OpenRepo(ctx, r.RecipesDir, workspace)
}

// openGit copies the recipes, and the charts beside them, of a commit.
func (r FromRequest) openGit(ctx context.Context) (*FromSource, error) {
	if r.RecipesDir == "" {
		return nil, fmt.Errorf("--from %s is not a directory, and these recipes are in no Git repository; give a directory, or --recipes-dir DIR", r.Text)
	}
	repo, err := r.repo(ctx)
	if err != nil {
		return nil, fmt.Errorf("--from %s: it is no directory, so it has to be a Git ref: %w", r.Text, err)
	}
	dir, err := repo.Path(r.RecipesDir)
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w", r.Text, err)
	}
	s := &FromSource{Name: r.Text}
	if r.Text == FromBase {
		base, err := repo.FindBase(ctx, r.Base, r.Getenv)
		if err != nil {
			return nil, fmt.Errorf("--from base: %w", err)
		}
		s.Commit, s.Of = base.Commit, base.Of
	} else if s.Commit, err = repo.Tip(ctx, r.Text); err != nil {
		return nil, fmt.Errorf("--from %s: %w", r.Text, err)
	}
	if r.App != "" {
		s.App, err = r.exportApp(ctx, repo, s.Commit)
		return s, err
	}
	if r.Whole {
		err = repo.ExportAll(ctx, s.Commit, r.Into)
	}
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w", r.Text, err)
	}
	ok, err := repo.Export(ctx, s.Commit, dir, r.Into)
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w", r.Text, err)
	}
	if !ok {
		return nil, fmt.Errorf("--from %s: commit %s has no directory %s; give a ref that has it, or the old recipes as a directory", r.Text, short(s.Commit), strings.TrimSuffix(dir, "/"))
	}
	s.Recipes = filepath.Join(r.Into, filepath.FromSlash(dir))
	if s.Older, err = r.olderDirs(ctx, repo, s.Commit); err != nil {
		return nil, fmt.Errorf("--from %s: %w", r.Text, err)
	}
	if strings.HasPrefix(chartsDir, dir) { // the recipes directory is the whole repository
		return s, nil
	}
	if ok, err = repo.Export(ctx, s.Commit, chartsDir, r.Into); err != nil {
		return nil, fmt.Errorf("--from %s: %w", r.Text, err)
	} else if ok {
		s.Charts = filepath.Join(r.Into, filepath.FromSlash(chartsDir))
	}
	return s, nil
}

// exportApp writes the files of a commit, with the remotes of the clone, by which an app knows what is its own, and
// returns the path of the app among them.
func (r FromRequest) exportApp(ctx context.Context, repo *discover.Repo, commit string) (string, error) {
	dir, err := repo.Path(r.RecipesDir)
	if err != nil {
		return "", fmt.Errorf("--from %s: %w", r.Text, err)
	}
	at := filepath.Join(r.Into, filepath.FromSlash(dir))
	if info, err := os.Stat(r.App); err == nil && !info.IsDir() {
		at = filepath.Join(at, filepath.Base(r.App))
	}
	if err := repo.ExportAll(ctx, commit, r.Into); err != nil {
		return "", fmt.Errorf("--from %s: %w", r.Text, err)
	}
	remotes, err := repo.Remotes(ctx)
	if err == nil {
		err = os.Mkdir(filepath.Join(r.Into, ".git"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(r.Into, ".git", "config"), []byte(remotes), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("--from %s: %w", r.Text, err)
	}
	if _, err := os.Stat(at); err != nil {
		return "", &NewAppError{fmt.Sprintf("--from %s: commit %s has no %s; give a ref that has it, or the path of the old app", r.Text, short(commit), r.App)}
	}
	return at, nil
}

// NewAppError is of an app that a commit does not have.
type NewAppError struct{ text string }

func (e *NewAppError) Error() string { return e.text }

// short is a commit's id as people write it.
func short(commit string) string { return commit[:min(12, len(commit))] }

// Title names the source with its commit: "main (1a2b3c4d5e6f)".
func (s *FromSource) Title() string {
	if s.Commit == "" {
		return s.Name
	}
	return s.Name + " (" + short(s.Commit) + ")"
}

// openDir says what a directory contains: kept cells, recipes, or a bundle.
func (r FromRequest) openDir(dir string) (*FromSource, error) {
	has := func(names ...string) bool {
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return false
			}
		}
		return true
	}
	switch {
	case has("registry.yaml", "overlays"):
		return &FromSource{Name: dir, Recipes: dir}, nil
	case has("recipes/registry.yaml", "recipes/overlays"): // a checkout
		s := &FromSource{Name: dir, Recipes: filepath.Join(dir, "recipes"), Older: r.besides(dir)}
		if has(chartsDir) {
			s.Charts = filepath.Join(dir, chartsDir)
		}
		return s, nil
	case has("cell.json"):
		return &FromSource{Name: dir, Kept: dir}, nil
	}
	kept, err := keptCells(dir)
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w", dir, err)
	}
	if len(kept) > 0 {
		return &FromSource{Name: dir, Kept: dir}, nil
	}
	for _, file := range []string{"checksums.txt", "recipe.yaml", "deploy.sh", "helmfile.yaml"} {
		if has(file) {
			return &FromSource{Name: dir, Bundle: dir}, nil
		}
	}
	return nil, fmt.Errorf("--from %s has no recipes (registry.yaml and overlays), no bundle (checksums.txt) and no kept cells (cell.json of --artifacts)", dir)
}
