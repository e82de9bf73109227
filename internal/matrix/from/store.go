package from

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// OldFormatError says that this program cannot read the source's recipes, whose own CLI could.
type OldFormatError struct {
	Source string
	Err    error
}

func (e *OldFormatError) Error() string {
	return fmt.Sprintf("--from %s: this program cannot read these recipes: %s; name a later ref, or run with --bundler exec and AICR's CLI of that ref (--aicr)", e.Source, result.FirstLine(e.Err.Error()))
}

// Unwrap returns the reader's error, which names file and line.
func (e *OldFormatError) Unwrap() error { return e.Err }

// NoRecipeError says that the source does not have a recipe, so that there is nothing to upgrade.
type NoRecipeError struct {
	Source, Recipe string
	Has            []string
}

func (e *NoRecipeError) Error() string {
	return fmt.Sprintf("%s has no recipe %s, so that there is nothing to upgrade from; it has: %s", e.Source, e.Recipe, strings.Join(e.Has, ", "))
}

// Store reads the source's recipes. Reasons for people: an *OldFormatError, or the reader's own.
func (s *Source) Store() (*recipe.Store, error) {
	fsys := os.DirFS(s.Recipes)
	store, err := recipe.Open(fsys, s.display())
	if err == nil {
		return store, nil
	}
	if _, headers := recipe.OpenHeaders(fsys, s.display()); headers == nil {
		return nil, &OldFormatError{Source: s.Title(), Err: err}
	}
	return nil, fmt.Errorf("--from %s: %w", s.Title(), err)
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
