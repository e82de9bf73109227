package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// RecipeDirs are the flags that say where recipes are read.
type RecipeDirs struct {
	Recipes string // --recipes-dir
	Data    string // --data
	// Sources are those of --kustomize-source.
	Sources []string
	// Strict is --strict-fields; where it is not given, whose recipes they are decides.
	Strict StrictFields
}

// StrictFields is the value of --strict-fields: whether a field or a kind of document that is not known is an error.
type StrictFields struct{ given, strict bool }

// String is the value as it was given.
func (s *StrictFields) String() string {
	if !s.given {
		return ""
	}
	return strconv.FormatBool(s.strict)
}

// Set is for pflag.
func (s *StrictFields) Set(text string) (err error) {
	s.given = true
	s.strict, err = strconv.ParseBool(text)
	return err
}

// Type is for pflag.
func (s *StrictFields) Type() string { return "bool" }

// StrictFieldsFlag adds --strict-fields.
func StrictFieldsFlag(cmd *cobra.Command, strict *StrictFields) {
	cmd.Flags().Var(strict, "strict-fields", "a field or kind of document that this release does not know is an error, and not a note (default: for recipes of this project only)")
	cmd.Flags().Lookup("strict-fields").NoOptDefVal = "true"
}

// lenient reports whether unknown fields in a recipes directory are notes: AICR's format moves, and this project's does
// not move by itself.
func (s StrictFields) lenient(dir string) bool {
	if s.given {
		return !s.strict
	}
	return dir != "" && !ownRecipes(dir)
}

// ownRecipes reports whether a recipes directory is that of a checkout of this project.
func ownRecipes(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	text, err := filesys.Regular(filepath.Join(filepath.Dir(dir), "go.mod"), 1<<20)
	return err == nil && strings.HasPrefix(string(text), "module "+ownModule+"\n")
}

const ownModule = "github.com/nvidia/aicr-action"

// RecipesFlags adds --recipes-dir, --data and --kustomize-source, whose values are for Recipes.
func RecipesFlags(cmd *cobra.Command, dirs *RecipeDirs) {
	cmd.Flags().StringVar(&dirs.Recipes, "recipes-dir", "", "recipes `directory`, or embedded for the recipes in this binary (default: ./recipes, else embedded; in CI, ./recipes must exist)")
	cmd.Flags().StringVar(&dirs.Data, "data", "", "`directory` to overlay on the recipes: its registry.yaml is merged by component, other files replace those with the same path")
	StrictFieldsFlag(cmd, &dirs.Strict)
	cmd.Flags().StringArrayVar(&dirs.Sources, "kustomize-source", nil, "`SOURCE=DIRECTORY`: use the checkout in DIRECTORY for Kustomize components from SOURCE (repeatable)")
}

// InBinary is the value of --recipes-dir that stands for the recipes in the binary. A directory of
// that name is ./embedded.
const InBinary = "embedded"

// The environment's --recipes-dir and --data.
const (
	recipesVariable = "AICR_ACTION_RECIPES_DIR"
	dataVariable    = "AICR_ACTION_DATA"
)

// Recipes opens a recipes directory: the flag, AICR_ACTION_RECIPES_DIR, ./recipes, or the recipes
// in the binary. The second result is how results call it. A data directory (the flag, or
// AICR_ACTION_DATA) is laid over it. Recipes that cannot be read are a usage error, with file and
// line. In CI the recipes in the binary must be asked for: a job that forgot its checkout would
// otherwise pass without having looked at its repository.
func (a *App) Recipes(dirs RecipeDirs) (*recipe.Store, string, error) {
	base, called, err := a.recipesLayer(dirs.Recipes)
	if err != nil {
		return nil, "", err
	}
	base.Lenient = dirs.Strict.lenient(a.RecipesDirectory(dirs.Recipes))
	store, err := a.layers(base, dirs.Data)
	if err != nil {
		return nil, "", err
	}
	sources, err := kustomizeSources(dirs.Sources)
	if err != nil {
		return nil, "", err
	}
	return store.WithSources(sources), called, nil
}

// TellRead says how recipes were read that no bundle is made of, whose warnings have it too: e.g. by older
// rules than their own.
func (a *App) TellRead(store *recipe.Store) {
	for _, note := range store.Notes() {
		_, _ = fmt.Fprintln(a.Stderr, "warning:", note)
	}
}

// RecipesOrHeaders is Recipes for a run whose recipes AICR's own CLI resolves: if they cannot be read as
// a whole, what is known of them is what they are for.
func (a *App) RecipesOrHeaders(dirs RecipeDirs) (*recipe.Store, string, error) {
	store, called, err := a.Recipes(dirs)
	if err == nil {
		return store, called, nil
	}
	base, called, noLayer := a.recipesLayer(dirs.Recipes)
	if noLayer != nil {
		return nil, "", err
	}
	headers, broken := recipe.OpenHeaders(base.FS, base.Root)
	if broken != nil {
		return nil, "", err
	}
	problem, more, _ := strings.Cut(err.Error(), "\n")
	if n := len(strings.Split(more, "\n")); more != "" {
		problem += fmt.Sprintf(" (and %d more, which matrix list recipes prints)", n)
	}
	_, _ = fmt.Fprintf(a.Stderr, "warning: the recipes cannot be read here as a whole: %s. AICR's CLI resolves them; of %s only names, bases, criteria and constraints are used\n", Inert(problem), called)
	return headers, called, nil
}

// OpenHeaders reads of a recipes directory what RecipesOrHeaders reads at least.
func (a *App) OpenHeaders(dir string) (*recipe.Store, error) {
	base, _, err := a.recipesLayer(dir)
	if err != nil {
		return nil, err
	}
	return recipe.OpenHeaders(base.FS, base.Root)
}

// layers opens a recipes directory, with the data directory over it if there is one.
func (a *App) layers(base recipe.Layer, dataFlag string) (*recipe.Store, error) {
	data := a.DataDirectory(dataFlag)
	if data == "" {
		store, err := recipe.OpenLayer(base)
		return store, WrapUsage(err)
	}
	if err := checkDataDirectory(data); err != nil {
		return nil, err
	}
	store, err := recipe.OpenWithData(base, recipe.Layer{FS: os.DirFS(data), Root: filepath.ToSlash(filepath.Clean(data)), Lenient: base.Lenient})
	return store, WrapUsage(err)
}

// checkDataDirectory refuses what is no directory, and a link to one, as AICR's own --data does.
func checkDataDirectory(dir string) error {
	info, err := os.Lstat(filepath.Clean(dir))
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the directory is named already
	}
	switch {
	case err != nil:
		return Usagef("data directory %s: %w; --data takes a directory with a registry.yaml", dir, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return Usagef("data directory %s: it is a symbolic link; name the directory that it leads to", dir)
	case !info.IsDir():
		return Usagef("data directory %s: it is not a directory; --data takes a directory with a registry.yaml", dir)
	}
	return nil
}

// recipesLayer finds the recipes directory, and how results call it.
func (a *App) recipesLayer(flag string) (recipe.Layer, string, error) {
	dir := a.RecipesDirectory(flag)
	if dir == "" {
		if !a.EmbeddedRecipes(flag) && a.inCI() {
			return recipe.Layer{}, "", Usagef("no recipes of this repository were found: the working directory has no recipes/registry.yaml. Check out the repository first "+
				"(actions/checkout), or name its recipes directory (--recipes-dir DIR, input recipes-dir). To run the recipes in this binary instead, write --recipes-dir embedded, which is the default where %s is not set", a.ciVariable())
		}
		return embedded()
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return recipe.Layer{}, "", Usagef("recipes directory %s: not a directory that can be read", dir)
	}
	return recipe.Layer{FS: os.DirFS(dir), Root: filepath.ToSlash(filepath.Clean(dir))}, dir, nil
}

// embedded gives the recipes in the binary, and how results call them.
func embedded() (recipe.Layer, string, error) {
	fsys, err := fs.Sub(aicraction.Recipes, "recipes")
	return recipe.Layer{FS: fsys, Root: "recipes"}, "the recipes in this binary", err
}

// inCI reports whether this is a CI job: GITHUB_ACTIONS is true, or CI has any value but a false
// one.
func (a *App) inCI() bool { return a.ciVariable() != "" }

// ciVariable is the variable that says so; empty elsewhere.
func (a *App) ciVariable() string {
	ci := a.Getenv("CI")
	on, err := strconv.ParseBool(ci)
	switch {
	case a.Getenv("GITHUB_ACTIONS") == "true":
		return "GITHUB_ACTIONS"
	case ci != "" && (on || err != nil):
		return "CI"
	}
	return ""
}

// RecipesDirectory is where Recipes reads them; empty for those in the binary.
func (a *App) RecipesDirectory(flag string) string {
	dir := FirstOf(flag, a.Getenv(recipesVariable))
	if a.EmbeddedRecipes(flag) {
		return ""
	}
	if dir == "" {
		if _, err := os.Stat(filepath.Join("recipes", "registry.yaml")); err == nil {
			dir = "recipes"
		}
	}
	return dir
}

// EmbeddedRecipes reports whether the user asked for the recipes in this binary.
func (a *App) EmbeddedRecipes(flag string) bool {
	return FirstOf(flag, a.Getenv(recipesVariable)) == InBinary
}

// DataDirectory is what Recipes lays over the recipes; empty for nothing.
func (a *App) DataDirectory(flag string) string { return FirstOf(flag, a.Getenv(dataVariable)) }
