package recipe

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Origin is a place in a file.
type Origin = document.Origin

// Number is document.Number.
type Number = document.Number

// Generation is a set of rules by which recipes add up.
type Generation = document.Generation

// The generations of AICR's documents.
const (
	March = document.March
	July  = document.July
)

// APIVersion is the apiVersion of this project's own documents.
const APIVersion = document.APIVersion

// FileError is a problem at a place in a recipes directory.
type FileError = document.FileError

// unknownRecipeError says that no overlay has the name that was asked for.
type unknownRecipeError struct {
	Name       string
	Known      []string // sorted
	Suggestion string   // the nearest known name; empty if none is near
}

// Error names the suggestion, or else everything there is.
func (e *unknownRecipeError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no recipe %q; the recipes directory has none", e.Name)
	}
	if e.Suggestion != "" {
		return fmt.Sprintf("there is no recipe %q; did you mean %q?", e.Name, e.Suggestion)
	}
	return fmt.Sprintf("there is no recipe %q; available recipes: %s", e.Name, strings.Join(e.Known, ", "))
}

// unknownRecipe is the error about a recipe's name, or about an overlay's path in place of its name.
func unknownRecipe(name string, known []string) error {
	like := strings.ToLower(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))
	like, _, _ = strings.Cut(like, VariantMark) // a value that its profile does not have
	return &unknownRecipeError{Name: name, Known: known, Suggestion: document.Similar(like, known)}
}
