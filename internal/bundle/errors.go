package bundle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// errEmpty means that a recipe would deploy nothing that could be verified: no release, or no
// workload in any release. A gate without expected objects would pass, so this is an error.
var errEmpty = errors.New("the bundle would deploy nothing that can be verified")

// ErrNoRepoURL means that a deployer must write the bundle's own address into it and was not given
// one.
var ErrNoRepoURL = errors.New("no repository URL for the bundle")

// ComponentError is a component that cannot become part of a bundle.
type ComponentError struct {
	Component string
	Origin    recipe.Origin // the place of the problem in the recipe's files
	Problem   string
}

func (e *ComponentError) Error() string {
	if e.Origin.File == "" {
		return fmt.Sprintf("component %s: %s", e.Component, e.Problem)
	}
	return fmt.Sprintf("%s: component %s: %s", e.Origin, e.Component, e.Problem)
}

// Position returns the file and the line of the problem, for reports.
func (e *ComponentError) Position() (file string, line int) { return e.Origin.File, e.Origin.Line }

// RenderError is a chart that Helm cannot render with the recipe's values.
type RenderError struct {
	Component, Release string
	Chart, Version     string
	Origin             recipe.Origin // the manifest's line or the value's, and otherwise where the recipe declares the component
	ValuesFile         string        // as the recipe names it, if it does
	// Value is the path of the value that Helm's error is about, if a file sets it: then Origin is
	// its line.
	Value string
	Err   error // Helm's words: template, line, cause
}

func (e *RenderError) Error() string {
	var b strings.Builder
	if e.Origin.File != "" {
		fmt.Fprintf(&b, "%s: ", e.Origin)
	}
	fmt.Fprintf(&b, "component %s: chart %s %s does not render", e.Component, e.Chart, e.Version)
	if e.Value != "" {
		fmt.Fprintf(&b, " with its value of %s", e.Value)
	} else if e.ValuesFile != "" {
		fmt.Fprintf(&b, " with the values of %s", e.ValuesFile)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap gives Helm's error.
func (e *RenderError) Unwrap() error { return e.Err }

// Position is the file and the line of the error, for programs.
func (e *RenderError) Position() (file string, line int) { return e.Origin.File, e.Origin.Line }

// unknownDeployerError is a deployer that does not exist.
type unknownDeployerError struct {
	Name  string
	Known []string
}

func (e *unknownDeployerError) Error() string {
	hint := lists.Hint(e.Name, e.Known)
	if hint != "" {
		hint = "; " + hint
	}
	return fmt.Sprintf("unknown deployer %q: known are %s, and all%s", e.Name, strings.Join(e.Known, ", "), hint)
}
