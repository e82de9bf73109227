package recipe

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Origin is a place in a file.
type Origin = document.Origin

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

// UnknownRecipeError says that no overlay has the name that was asked for.
type UnknownRecipeError struct {
	Name       string
	Known      []string // sorted
	Suggestion string   // the nearest known name; empty if none is near
}

// Error names the suggestion, or else everything there is.
func (e *UnknownRecipeError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no recipe %q; the recipes directory has none", e.Name)
	}
	hint := ""
	if e.Suggestion != "" {
		hint = fmt.Sprintf("did you mean %q? ", e.Suggestion)
	}
	return fmt.Sprintf("there is no recipe %q; %sthe known ones are: %s", e.Name, hint, strings.Join(e.Known, ", "))
}
