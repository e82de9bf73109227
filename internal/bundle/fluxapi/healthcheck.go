// Package fluxapi knows what Flux makes of its own objects: their names and those of their
// releases, what source-controller takes of a repository, and what a Kustomization replaces,
// decrypts and waits for.
package fluxapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Check is an object that a Kustomization waits for.
type Check struct {
	Kustomization string
	At            recipe.Origin // in the Kustomization's file
	Timeout       string        // of the Kustomization; empty for Flux's default
	Object        result.Ref
	Version       string // of the object's API
	// Releases are the HelmReleases of the Kustomization.
	Releases []string
	// Wrong says why the check can never pass, where the files alone show it.
	Wrong string
	// Live: a controller of the cell reports the object's state, so that Flux decides.
	Live bool
}

// Expressions say when objects of a kind, or of a group with no kind, are ready.
type Expressions struct {
	Kustomization               string
	At                          recipe.Origin
	APIVersion, Kind            string
	Current, Failed, InProgress string
}

// Group is the API group that the expressions are for.
func (e Expressions) Group() string {
	group, _, ok := strings.Cut(e.APIVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// For reports whether the expressions are for a kind.
func (e Expressions) For(group, kind string) bool {
	return e.Group() == group && (e.Kind == "" || e.Kind == kind)
}

// Same reports whether two say the same of the same kind.
func (e Expressions) Same(other Expressions) bool {
	e.Kustomization, e.At, other.Kustomization, other.At = "", recipe.Origin{}, "", recipe.Origin{}
	return e == other
}

var status = regexp.MustCompile(`\bstatus\b`)

// Simulated reports whether the expressions ask for the status of custom resources, whose operators
// may be simulated: then nothing here can say whether they hold.
func (e Expressions) Simulated() bool {
	return Custom(e.Group()) && status.MatchString(e.Current+" "+e.Failed+" "+e.InProgress)
}

// Custom reports whether a group is neither Flux's nor one that each API server has: a definition brings
// it, e.g. gateway.networking.k8s.io.
func Custom(group string) bool {
	return group != "" && !strings.HasSuffix(group, ".toolkit.fluxcd.io") && !slices.ContainsFunc(apis.Stack().Server, func(a apis.API) bool { return strings.HasPrefix(a.Name, group+"/") })
}

// Parse returns what is wrong with expressions. It takes what kustomize-controller takes, which does
// not check types before it evaluates an expression (fluxcd/pkg/runtime/cel).
func (e Expressions) Parse() error {
	if e.Current == "" {
		return errors.New("it has no expression under current")
	}
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	if err != nil {
		return err
	}
	for _, x := range []struct{ name, text string }{{"current", e.Current}, {"failed", e.Failed}, {"inProgress", e.InProgress}} {
		if x.text == "" {
			continue
		}
		if _, issues := env.Parse(x.text); issues.Err() != nil {
			first, _, _ := strings.Cut(issues.Errors()[0].Message, " expecting {") // a list of all that could be
			return fmt.Errorf("%s is no expression of CEL, at column %d: %s", x.name, issues.Errors()[0].Location.Column()+1, first)
		}
	}
	return nil
}

// Object is the expressions as a field of a Kustomization or a HelmRelease has them.
func (e Expressions) Object() map[string]any {
	o := map[string]any{"apiVersion": e.APIVersion, "kind": e.Kind, "current": e.Current}
	for key, text := range map[string]string{"failed": e.Failed, "inProgress": e.InProgress} {
		if text != "" {
			o[key] = text
		}
	}
	return o
}

// The root's patience with objects that are not ready yet, the shortest that Flux knows, and how soon
// it asks again. It begins when its HelmReleases are created, so that one attempt says little.
const (
	attempt = "30s"
	again   = "5s"
)

// InRoot adds the checks that Flux decides to the spec of the Kustomization that applies all.
func InRoot(spec map[string]any, checks []Check, expressions []Expressions) {
	var objects, texts []any
	for _, c := range checks {
		apiVersion := c.Version
		if c.Object.Group != "" {
			apiVersion = c.Object.Group + "/" + c.Version
		}
		o := map[string]any{"apiVersion": apiVersion, "kind": c.Object.Kind, "name": c.Object.Name}
		if c.Object.Namespace != "" {
			o["namespace"] = c.Object.Namespace
		}
		if c.Live && !slices.ContainsFunc(objects, func(other any) bool { return fmt.Sprint(other) == fmt.Sprint(o) }) {
			objects = append(objects, o)
		}
	}
	if len(objects) == 0 {
		return
	}
	spec["healthChecks"], spec["timeout"], spec["retryInterval"] = objects, attempt, again
	for _, e := range expressions {
		texts = append(texts, e.Object())
	}
	if len(texts) > 0 {
		spec["healthCheckExprs"] = texts
	}
}
