package fluxapi

// kustomizations.go tells which HelmReleases have to be ready before Flux applies a Kustomization.
// It must not know files or clusters.

import (
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// DependencyGraph has Kustomizations by their keys.
type DependencyGraph map[string]*KustomizationNode

// KustomizationNames reports whether a dependency, which is the key of what is waited for, is a Kustomization: it has that
// name, and that namespace as far as both are known.
func KustomizationNames(dependency, key string) bool {
	in, name, _ := strings.Cut(dependency, "/")
	there, other, _ := strings.Cut(key, "/")
	return name == other && (in == there || in == "" || there == "")
}

// named are the keys that a dependency names: its own, or else those that it may name.
func (g DependencyGraph) named(dependency string) []string {
	if g[dependency] != nil {
		return []string{dependency}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(g)), func(key string) bool { return !KustomizationNames(dependency, key) })
}

// KustomizationNode is a Kustomization.
type KustomizationNode struct {
	// Parent is the key of the Kustomization that applies it; empty for none.
	Parent    string
	DependsOn []string
	// Waits: it is ready once all of its objects are. Else it is once they are applied, and what
	// Checks and Children names is ready.
	Waits bool
	// Releases are its HelmReleases; Checks are those that its health checks name, and CheckedChildren
	// the Kustomizations.
	Releases, Checks, CheckedChildren []string
	// Applied are HelmReleases that stand for what it applies itself.
	Applied []string
}

// Before are the HelmReleases that are ready before Flux applies a Kustomization.
func (g DependencyGraph) Before(name string) []string { return g.before(name, map[string]bool{}) }

// Ready are the HelmReleases that are ready before a Kustomization is.
func (g DependencyGraph) Ready(name string) []string { return g.ready(name, map[string]bool{}) }

func (g DependencyGraph) before(name string, seen map[string]bool) []string {
	n := g[name]
	if n == nil || seen["before "+name] {
		return nil
	}
	seen["before "+name] = true
	var all []string
	for _, d := range n.DependsOn {
		for _, key := range g.named(d) {
			all = union(all, g.ready(key, seen))
		}
	}
	return union(all, g.before(n.Parent, seen))
}

func (g DependencyGraph) ready(name string, seen map[string]bool) []string {
	n := g[name]
	if n == nil || seen["ready "+name] {
		return nil
	}
	seen["ready "+name] = true
	all := union(union(g.before(name, seen), n.Applied), n.Checks)
	for _, child := range n.CheckedChildren {
		for _, key := range g.named(child) {
			all = union(all, g.ready(key, seen))
		}
	}
	if !n.Waits {
		return all
	}
	all = union(all, n.Releases)
	for child, c := range g {
		if c.Parent == name {
			all = union(all, g.ready(child, seen))
		}
	}
	slices.Sort(all)
	return all
}

func union(all, more []string) []string { return lists.Unique(slices.Concat(all, more)) }
