package matrix

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// oldFormatError says that this program cannot read the source's recipes, whose own CLI could.
type oldFormatError struct {
	Source string
	Err    error
}

func (e *oldFormatError) Error() string {
	return fmt.Sprintf("--from %s: this program cannot read these recipes, which AICR's own CLI of then may: %s; name a later source, or let AICR's CLI make both bundles: --aicr build in a checkout of AICR, or --aicr PATH and --from-aicr PATH, the CLI of the old recipes", e.Source, result.FirstLine(e.Err.Error()))
}

// noRecipeError says that the source does not have a recipe, so that there is nothing to upgrade.
type noRecipeError struct {
	Source, Recipe string
	Has            []string
}

// mostRecipes is how many recipes are named of a source that does not have the one.
const mostRecipes = 12

func (e *noRecipeError) Error() string {
	text := fmt.Sprintf("--from %s has no recipe %s, so that there is nothing to upgrade from; it has: %s", e.Source, e.Recipe, strings.Join(lists.AtMost(e.Has, mostRecipes), ", "))
	if hint := lists.Hint(e.Recipe, e.Has); hint != "" {
		text += "; " + hint
	}
	return text
}

// Unreadable says what to do about recipes that could not be read, with the reader's text: an
// *oldFormatError where at least their headers can be.
func (s *FromSource) Unreadable(err error) error {
	err = errors.New(strings.ReplaceAll(err.Error(), s.Recipes, s.display())) // its places are in no file that is there
	if _, headers := recipe.OpenHeaders(os.DirFS(s.Recipes), s.display()); headers == nil {
		return &oldFormatError{Source: s.Title(), Err: err}
	}
	return fmt.Errorf("--from %s: %w", s.Title(), err)
}

// display is how messages call the recipes directory: a commit's files are a copy, whose path would
// tell no one anything.
func (s *FromSource) display() string {
	if s.Commit != "" {
		return short(s.Commit) + ":recipes"
	}
	return s.Recipes
}

// Has reports whether the source's recipes have this one: nil, or a *noRecipeError.
func (s *FromSource) Has(store *recipe.Store, name string) error {
	if _, ok := store.Overlay(name); ok {
		return nil
	}
	return &noRecipeError{Source: s.Title(), Recipe: name, Has: slices.Clone(store.Names())}
}
