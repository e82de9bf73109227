package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// Component is a component of the registry.
type Component struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	File        string `json:"file"` // with the line
	Type        string `json:"type"` // Helm, Kustomize or Manifest
	// Repository, Chart, Version and Namespace are the registry's; a recipe may set others.
	Repository string   `json:"repository,omitempty"`
	Chart      string   `json:"chart,omitempty"`
	Version    string   `json:"version,omitempty"`
	Namespace  string   `json:"namespace,omitempty"`
	Recipes    []string `json:"recipes"` // that set a service and deploy it, sorted
	Readiness
}

// Components lists the registry by name.
func Components(ctx context.Context, s Sources) ([]Component, error) {
	l := newLister(ctx, s)
	users := map[string][]string{}
	l.deployed(func(name string, c *recipe.ComponentRef) { users[c.Name] = append(users[c.Name], name) })
	all := []Component{}
	for _, e := range s.Store.Entries() {
		c := Component{
			Name: e.Name, DisplayName: e.DisplayName, File: e.Origin.String(), Type: e.Type,
			Repository: e.Source, Chart: e.Chart, Version: cmp.Or(e.Version, e.Tag), Namespace: e.Namespace, Recipes: sorted(users[e.Name]),
			Readiness: readiness(l.component(&e.ComponentRef)),
		}
		if e.ManifestOnly {
			c.Type = "Manifest"
		}
		all = append(all, c)
	}
	return all, ctx.Err()
}

// deployed goes through the components of every recipe that has a service and can be resolved, in
// the order of their names.
func (l *lister) deployed(each func(name string, c *recipe.ComponentRef)) {
	for _, name := range l.Store.Names() {
		if o, _ := l.Store.Overlay(name); o.Testable() {
			_, components := l.recipe(o)
			for i := range components {
				each(name, &components[i].ComponentRef)
			}
		}
	}
}

// Chart is a chart as recipes pin it.
type Chart struct {
	Name       string   `json:"name"`
	Version    string   `json:"version,omitempty"` // empty: the newest that there is
	Repository string   `json:"repository,omitempty"`
	Components []string `json:"components"` // that have it, sorted
	Recipes    []string `json:"recipes"`    // that set a service and deploy it, sorted
	Readiness
}

// ListCharts lists the charts of all recipes that have a service, by name, version and repository.
func ListCharts(ctx context.Context, s Sources) ([]Chart, error) {
	l := newLister(ctx, s)
	at := map[chartKey]*Chart{}
	l.deployed(func(name string, c *recipe.ComponentRef) {
		if c.Chart == "" || c.Type == recipe.TypeKustomize {
			return
		}
		key := chartKey{c.Source, c.Chart, c.Version}
		if at[key] == nil {
			at[key] = &Chart{Name: c.Chart, Version: c.Version, Repository: c.Source, Readiness: readiness(l.component(c))}
		}
		at[key].Components = append(at[key].Components, c.Name)
		at[key].Recipes = append(at[key].Recipes, name)
	})
	all := []Chart{}
	for _, c := range at {
		c.Components, c.Recipes = sorted(c.Components), sorted(c.Recipes)
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Chart) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Repository, b.Repository))
	})
	return all, ctx.Err()
}

// Profile is a node profile.
type Profile struct {
	Name         string            `json:"name"`
	Service      string            `json:"service"`
	Accelerator  string            `json:"accelerator,omitempty"`
	NodeType     string            `json:"nodeType"` // system or accelerated
	Default      bool              `json:"default"`  // for recipes of its service that name no accelerator
	InstanceType string            `json:"instanceType"`
	Architecture string            `json:"architecture"`
	Capacity     map[string]string `json:"capacity"` // quantities by resource
	GPU          string            `json:"gpu,omitempty"`
	GPUs         int               `json:"gpus"`
	Recipes      []string          `json:"recipes"` // that run on its nodes, sorted
	// DefaultStorageClass is that of the service's clusters, "none" if they have none; StorageClasses are the others, too.
	DefaultStorageClass string   `json:"defaultStorageClass"`
	StorageClasses      []string `json:"storageClasses,omitempty"`
	// LoadBalancer is "none" if nothing gives Services of type LoadBalancer addresses in the service's clusters.
	LoadBalancer string `json:"loadBalancer,omitempty"`
	// Groups have as many nodes as pods need; without any, the number of nodes is the same for all profiles.
	Groups []Group `json:"groups,omitempty"`
	Readiness
}

// Group is a group of nodes of a profile.
type Group struct {
	Name string `json:"name"`
	Min  int    `json:"min"`
	Max  int    `json:"max"`
}

// String is e.g. spot 0-16.
func (g Group) String() string { return fmt.Sprintf("%s %d-%d", g.Name, g.Min, g.Max) }

// ListProfiles lists the node profiles by service, kind of node and name. A profile can be used if
// there is one for the other nodes of its service.
func ListProfiles(ctx context.Context, s Sources) ([]Profile, error) {
	users := map[string][]string{}
	for _, name := range s.Store.Names() {
		o, _ := s.Store.Overlay(name)
		if !o.Testable() {
			continue
		}
		groups, err := simulate.ChooseProfiles(s.Profiles, o.Effective.Service, o.Effective.Accelerator, s.Nodes)
		if err != nil {
			continue // Recipes says so
		}
		for _, g := range groups {
			if of := users[g.Profile.Metadata.Name]; !slices.Contains(of, name) { // each group is of a profile
				users[g.Profile.Metadata.Name] = append(of, name)
			}
		}
	}
	all := []Profile{}
	for i := range s.Profiles {
		p := &s.Profiles[i].Spec
		listed := Profile{
			Name: s.Profiles[i].Metadata.Name, Service: p.Criteria.Service, Accelerator: p.Criteria.Accelerator, NodeType: p.NodeType, Default: p.Default,
			InstanceType: p.InstanceType, Architecture: p.Architecture, Capacity: p.Capacity, Recipes: sorted(users[s.Profiles[i].Metadata.Name]),
		}
		listed.LoadBalancer = loadBalancerOf(s.Profiles, p.Criteria.Service)
		listed.DefaultStorageClass, listed.StorageClasses = classesOf(s.Profiles, p.Criteria.Service)
		if p.GPU != nil {
			listed.GPU, listed.GPUs = p.GPU.Product, p.GPU.Count
		}
		for _, g := range p.Groups {
			listed.Groups = append(listed.Groups, Group{g.Name, g.Min, g.Max})
		}
		listed.Readiness = readiness(partners(s.Profiles, p))
		all = append(all, listed)
	}
	slices.SortStableFunc(all, func(a, b Profile) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), -cmp.Compare(a.NodeType, b.NodeType), cmp.Compare(a.Name, b.Name)) // system before accelerated
	})
	return all, ctx.Err()
}

// loadBalancerOf is "none" if one of the profiles of a service says so.
func loadBalancerOf(all []simulate.Profile, service string) string {
	for i := range all {
		if s := &all[i].Spec; s.Criteria.Service == service && s.LoadBalancer != "" {
			return s.LoadBalancer
		}
	}
	return ""
}

// classesOf are the StorageClasses of a service's clusters, which one of its profiles has.
func classesOf(all []simulate.Profile, service string) (first string, classes []string) {
	first = simulate.DefaultClassName
	for i := range all {
		if s := &all[i].Spec; s.Criteria.Service == service {
			first, classes = cmp.Or(s.DefaultStorageClass, first), append(classes, s.StorageClasses...)
		}
	}
	return first, classes
}

// partners says which profile a cluster with nodes of this one lacks: every cluster has nodes of
// both kinds.
func partners(all []simulate.Profile, p *simulate.ProfileSpec) []Missing {
	other := "system"
	if p.NodeType == other {
		other = "accelerated"
	}
	if slices.ContainsFunc(all, func(q simulate.Profile) bool {
		return q.Spec.Criteria.Service == p.Criteria.Service && q.Spec.NodeType == other
	}) {
		return nil
	}
	return []Missing{{missingProfile, p.Criteria.Service + " " + other, fmt.Sprintf("no profile is for the %s nodes of service %s, and a cluster has nodes of both kinds", other, p.Criteria.Service)}}
}

// sorted is a list without repeats; never nil, so that it is a list in JSON too.
func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	if list = slices.Compact(list); list == nil {
		return []string{}
	}
	return list
}
