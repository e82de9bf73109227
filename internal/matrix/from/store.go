package from

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

// OldFormatError says that this program cannot read the source's recipes, whose own CLI could.
type OldFormatError struct {
	Source string
	Err    error
}

func (e *OldFormatError) Error() string {
	return fmt.Sprintf("--from %s: this program cannot read these recipes, which AICR's own CLI of then may: %s; name a later source, or let AICR's CLI make both bundles: --aicr build in a checkout of AICR, or --aicr PATH and --from-aicr PATH, the CLI of the old recipes", e.Source, result.FirstLine(e.Err.Error()))
}

// NoRecipeError says that the source does not have a recipe, so that there is nothing to upgrade.
type NoRecipeError struct {
	Source, Recipe string
	Has            []string
}

// mostRecipes is how many recipes are named of a source that does not have the one.
const mostRecipes = 12

func (e *NoRecipeError) Error() string {
	text := fmt.Sprintf("--from %s has no recipe %s, so that there is nothing to upgrade from; it has: %s", e.Source, e.Recipe, strings.Join(lists.AtMost(e.Has, mostRecipes), ", "))
	if hint := lists.Hint(e.Recipe, e.Has); hint != "" {
		text += "; " + hint
	}
	return text
}

// Unreadable says what to do about recipes that could not be read, with the reader's text: an
// *OldFormatError where at least their headers can be.
func (s *Source) Unreadable(err error) error {
	err = errors.New(strings.ReplaceAll(err.Error(), s.Recipes, s.display())) // its places are in no file that is there
	if _, headers := recipe.OpenHeaders(os.DirFS(s.Recipes), s.display()); headers == nil {
		return &OldFormatError{Source: s.Title(), Err: err}
	}
	return fmt.Errorf("--from %s: %w", s.Title(), err)
}

// display is how messages call the recipes directory: a commit's files are a copy, whose path would
// tell no one anything.
func (s *Source) display() string {
	if s.Commit != "" {
		return short(s.Commit) + ":recipes"
	}
	return s.Recipes
}

// Has reports whether the source's recipes have this one: nil, or a *NoRecipeError.
func (s *Source) Has(store *recipe.Store, name string) error {
	if _, ok := store.Overlay(name); ok {
		return nil
	}
	return &NoRecipeError{Source: s.Title(), Recipe: name, Has: slices.Clone(store.Names())}
}
