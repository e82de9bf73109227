// Package inventory lists the available recipes, components, charts and node profiles, each with
// what is missing to run it. It knows recipes, node profiles and chart sources. It must not know
// clusters, nor how a list is printed.
package inventory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// Charts finds the charts that components name. The error says what is there instead.
type Charts interface {
	Find(ctx context.Context, component *recipe.ComponentRef) error
}

// Sources are what the lists are made from.
type Sources struct {
	Store    *recipe.Store
	Charts   Charts
	Profiles []simulate.Profile
	// Nodes are the groups of nodes that each cluster has.
	Nodes []simulate.NodeGroup
	// KubeVersion is that of the control plane, e.g. v1.36.1.
	KubeVersion string
}

// What can be missing.
const (
	missingService    = "service"    // the overlay is for no kind of cluster, so that none can be simulated
	missingRecipe     = "recipe"     // it cannot be resolved
	missingConstraint = "constraint" // the recipe requires another version of the control plane
	missingProfile    = "profile"    // no node profile
	missingChart      = "chart"      // the chart source does not have it
	missingSource     = "source"     // of a Kustomize component: it is elsewhere, and was not allowed
	MissingToolchain  = "toolchain"  // no Go that could compile the stack
)

// Missing is something that is missing to run a recipe or a component here.
type Missing struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // short, e.g. "kgateway v2.0.0" for a chart
	Why  string `json:"why"`  // what to do about it, in full
}

// Readiness is whether something can be run here.
type Readiness struct {
	Runnable bool      `json:"runnable"`
	Missing  []Missing `json:"missing,omitempty"`
}

func readiness(missing []Missing) Readiness { return Readiness{len(missing) == 0, missing} }

// Brief is what is missing in one line; empty if nothing is.
func (r Readiness) Brief() string {
	var parts []string
	for _, m := range r.Missing {
		parts = append(parts, m.Kind+" "+m.Name)
	}
	return strings.Join(parts, ", ")
}

// Recipe is an overlay.
type Recipe struct {
	Name string `json:"name"`
	File string `json:"file"` // with the line
	// Tier is the first tier of which the recipe is: 1 if it is for a service and no accelerator, 2
	// if it is for both, 0 if it is for no service. Tier 3 is all that have a service.
	Tier int `json:"tier"`
	// Criteria are those of the query for this recipe: its own, and those of its bases where it
	// sets none.
	Criteria   recipe.Criteria `json:"criteria"`
	Components []string        `json:"components"` // that are deployed, in their order
	Readiness
}

// Recipes lists the overlays by service, then by name; those without a service come last.
func Recipes(ctx context.Context, s Sources) ([]Recipe, error) {
	l := newLister(ctx, s)
	all := []Recipe{}
	for _, name := range s.Store.Names() {
		o, _ := s.Store.Overlay(name)
		r := Recipe{Name: name, File: o.Origin.String(), Criteria: o.Effective, Components: []string{}}
		switch {
		case o.Generic():
			r.Tier = 1
		case o.Testable():
			r.Tier = 2
		}
		missing, components := l.recipe(o)
		for _, c := range components {
			r.Components = append(r.Components, c.Name)
		}
		r.Readiness = readiness(missing)
		all = append(all, r)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b Recipe) int {
		return cmp.Or(noServiceLast(a, b), cmp.Compare(a.Criteria.Service, b.Criteria.Service), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

func noServiceLast(a, b Recipe) int {
	switch {
	case a.Tier > 0 && b.Tier == 0:
		return -1
	case a.Tier == 0 && b.Tier > 0:
		return 1
	}
	return 0
}

// lister finds each chart only once.
type lister struct {
	Sources
	ctx    context.Context
	charts map[chartKey]error
}

// chartKey is what a chart is found by.
type chartKey struct{ repository, chart, version string }

func newLister(ctx context.Context, s Sources) *lister {
	return &lister{Sources: s, ctx: ctx, charts: map[chartKey]error{}}
}

// recipe says what an overlay lacks to be run, and which components it deploys.
func (l *lister) recipe(o *recipe.Overlay) ([]Missing, []recipe.Component) {
	var missing []Missing
	if !o.Testable() {
		missing = append(missing, Missing{missingService, "not set", "the overlay sets no criteria.service, so that there is no cluster to simulate for it; it is a part of other recipes"})
	}
	resolved, err := l.Store.ResolveName(o.Name)
	if err != nil {
		return append(missing, Missing{missingRecipe, "unresolved", err.Error()}), nil
	}
	store := l.Store
	if slices.ContainsFunc(resolved.ComponentRefs, func(ref recipe.ComponentRef) bool { return store.CheckSource(ref) != nil }) {
		store = store.WithoutKustomizations() // which components there are is known all the same
	}
	components, err := store.Components(resolved)
	if err != nil {
		return append(missing, Missing{missingRecipe, "unresolved", err.Error()}), nil
	}
	if err := resolved.CheckKubeVersion(l.KubeVersion); err != nil {
		name := "unreadable"
		var broken *recipe.BrokenConstraintError
		if errors.As(err, &broken) {
			name = broken.Constraint.Name + " " + broken.Constraint.Value
		}
		missing = append(missing, Missing{missingConstraint, name, err.Error()})
	}
	if o.Testable() {
		c := resolved.Criteria
		if _, err := simulate.ForRecipe(l.Profiles, c.Service, c.Accelerator, resolved.DeploymentOrder, l.Nodes); err != nil {
			missing = append(missing, Missing{missingProfile, c.Service + "/" + c.Accelerator, err.Error()})
		}
	}
	for i := range components {
		missing = append(missing, l.component(&components[i].ComponentRef)...)
	}
	return missing, components
}

// component says what a component lacks to be deployed.
func (l *lister) component(c *recipe.ComponentRef) []Missing {
	switch {
	case c.Type == recipe.TypeKustomize:
		if err := l.Store.CheckSource(*c); err != nil {
			return []Missing{{missingSource, c.Source + " (" + c.Name + ")", err.Error()}}
		}
		return nil
	case c.Chart == "":
		return nil
	}
	if err := l.find(c); err != nil {
		return []Missing{{missingChart, strings.TrimSpace(c.Chart + " " + c.Version), err.Error()}}
	}
	return nil
}

func (l *lister) find(c *recipe.ComponentRef) error {
	key := chartKey{c.Source, c.Chart, c.Version}
	err, known := l.charts[key]
	if !known {
		err = l.Charts.Find(l.ctx, c)
		l.charts[key] = err
	}
	return err
}
