// Package argoapi knows what Argo CD makes of its own objects: the sources and parameters of an
// Application, what an AppProject permits, what an ApplicationSet generates, and which kinds it
// leaves out.
package argoapi

import (
	"fmt"
	"strings"

	"github.com/gobwas/glob"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// LocalServer is the address of the cluster that Argo CD runs in.
const LocalServer = "https://kubernetes.default.svc"

// Refusal is an object that Argo CD never delivers: what the object does, as the end of a sentence about
// it, what comes of it, and the place that says so.
type Refusal struct {
	Of         result.Ref
	Text, Then string
	At         recipe.Origin
}

// Difference is an entry of spec.ignoreDifferences of an Application. Group and Kind may have patterns.
type Difference struct {
	Application, Group, Kind, Namespace, Name string
	At                                        recipe.Origin
}

// Fits reports whether it is for the kind of an object, and whether for the object.
func (d Difference) Fits(ref result.Ref) (kind, object bool) {
	kind = matches(d.Group, ref.Group) && matches(d.Kind, ref.Kind)
	return kind, kind && ref.Name == d.Name && (d.Namespace == "" || d.Namespace == ref.Namespace)
}

// Kind is an entry of a list of kinds. Both may have patterns.
type Kind struct {
	Group string `yaml:"group"`
	Kind  string `yaml:"kind"`
	Name  string `yaml:"name"`
}

// Destination is where Applications may deliver to. All may have patterns.
type Destination struct {
	Server    string `yaml:"server"`
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
}

// Project is an AppProject.
type Project struct {
	Name string        `yaml:"-"`
	At   recipe.Origin `yaml:"-"`

	SourceRepos                []string      `yaml:"sourceRepos"`
	Destinations               []Destination `yaml:"destinations"`
	ClusterResourceWhitelist   []Kind        `yaml:"clusterResourceWhitelist"`
	ClusterResourceBlacklist   []Kind        `yaml:"clusterResourceBlacklist"`
	NamespaceResourceWhitelist []Kind        `yaml:"namespaceResourceWhitelist"`
	NamespaceResourceBlacklist []Kind        `yaml:"namespaceResourceBlacklist"`
	SyncWindows                []Window      `yaml:"syncWindows"`
}

// Member is an Application of a project: the address or the name of the cluster that it delivers to.
type Member struct {
	*Project
	Server, Cluster string
}

// matches reports whether a pattern is for a text; one with ! in front is for all others.
func matches(pattern, text string, separators ...rune) bool {
	rest, not := strings.CutPrefix(pattern, "!")
	if rest == "*" {
		return !not
	}
	g, err := glob.Compile(rest, separators...)
	return err == nil && g.Match(text) != not
}

func denies(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// Source says why the project refuses a repository; empty if it does not.
func (p *Project) Source(url string) string {
	normal := func(text string) string {
		not := ""
		if denies(text) {
			not, text = "!", text[1:]
		}
		return not + strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(text, "/"), ".git"))
	}
	permitted := false
	for _, pattern := range p.SourceRepos {
		switch ok := matches(normal(pattern), normal(url), '/'); {
		case ok:
			permitted = true
		case denies(pattern):
			return fmt.Sprintf("denies the source %s (sourceRepos: %s)", url, pattern)
		}
	}
	if permitted {
		return ""
	}
	return fmt.Sprintf("does not permit the source %s (sourceRepos)", url)
}

// Destination says why the project refuses to deliver to a namespace of a cluster, of which the address
// or the name is known; empty if it does not.
func (p *Project) Destination(server, name, namespace string) string {
	permitted := false
	for _, d := range p.Destinations {
		byName, byServer := name != "" && matches(d.Name, name), server != "" && matches(d.Server, server)
		if name == "" && d.Name != "" || server == "" && d.Server != "" {
			byName, byServer = true, true // only Argo CD knows which cluster has both
		}
		inNamespace := matches(d.Namespace, namespace)
		switch {
		case (byName || byServer) && inNamespace:
			permitted = true
		case denies(d.Namespace) && !inNamespace && (byServer || byName):
			return fmt.Sprintf("denies the namespace %s (destinations: %s)", namespace, d.Namespace)
		}
	}
	if permitted {
		return ""
	}
	cluster := server
	if cluster == "" {
		cluster = name
	}
	return fmt.Sprintf("does not permit the namespace %s of %s (destinations)", namespace, cluster)
}

// Resource says why the project refuses an object; empty if it does not.
func (p *Project) Resource(group, kind, name string, namespaced bool) string {
	in := func(list []Kind) bool {
		for _, k := range list {
			if matches(k.Group, group) && matches(k.Kind, kind) && (namespaced || k.Name == "" || matches(k.Name, name)) {
				return true
			}
		}
		return false
	}
	switch {
	case namespaced && p.NamespaceResourceWhitelist != nil && !in(p.NamespaceResourceWhitelist):
		return "does not permit its kind (namespaceResourceWhitelist)"
	case namespaced && in(p.NamespaceResourceBlacklist):
		return "denies its kind (namespaceResourceBlacklist)"
	case !namespaced && !in(p.ClusterResourceWhitelist):
		return "does not permit its kind, which is of the whole cluster (clusterResourceWhitelist)"
	case !namespaced && in(p.ClusterResourceBlacklist):
		return "denies its kind (clusterResourceBlacklist)"
	}
	return ""
}
