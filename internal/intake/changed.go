package intake

// changed.go compares what an app of a repository lays out with what an older state of it does. It must not
// know where the older state is from.

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Changed are the releases of a laid-out bundle that differ from those of an older one, in their order: by what
// deploys them, their charts in the repository, their values, and the version of a chart from elsewhere. What belongs to
// no release, e.g. a CustomResourceDefinition beside them, changes all. Removed are those that only the older one has.
func (b *Bundle) Changed(old *Bundle) (changed, removed []string, err error) {
	now, err := b.digests()
	if err != nil {
		return nil, nil, err
	}
	then, err := old.digests()
	if err != nil {
		return nil, nil, err
	}
	components, _ := b.Components()
	for i := range components {
		if name := components[i].Name; now[name] != then[name] {
			changed = append(changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(then)) {
		if _, still := now[name]; !still {
			removed = append(removed, name)
		}
	}
	return changed, removed, nil
}

// digests are those of what each release is made of, by name. Places in files are no part of it.
func (b *Bundle) digests() (map[string]string, error) {
	components, given := b.Components()
	of := map[string][]string{}
	var shared []string // by all
	for i := range components {
		c := &components[i]
		g := given[c.Name]
		text, err := json.Marshal([]any{c.ComponentRef, c.Values, g.HelmName, g.Whole, g.Under, g.ForceConflicts, g.Unawaited, g.Within, g.Post.Steps, b.afterOf(c.Name)})
		if err != nil {
			return nil, fmt.Errorf("the values of %s: %w", c.Name, err)
		}
		of[c.Name] = append(append(of[c.Name], string(text)), filesOf(g.Chart)...)
	}
	for _, name := range slices.Sorted(maps.Keys(b.tree.files)) {
		if strings.Contains(path.Dir(name), "/") || path.Ext(name) != ".yaml" || path.Base(name) == "kustomization.yaml" { // a chart's, of which Components has all; or a list of files
			continue
		}
		docs, err := yamlx.Documents(b.tree.files[name].Content)
		if err != nil {
			shared = append(shared, string(b.tree.files[name].Content))
			continue
		}
		for _, d := range docs {
			if len(d.Content) != 1 {
				continue
			}
			if err := attribute(d.Content[0], components, of, &shared); err != nil {
				return nil, err
			}
		}
	}
	if err := b.saidBesides(of, &shared); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for i := range components {
		name := components[i].Name
		slices.Sort(of[name]) // the names of files have numbers, which others change
		slices.Sort(shared)
		all[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(slices.Concat(of[name], []string{""}, shared), "\x00"))))
	}
	return all, nil
}

// afterOf are those that Argo CD waits for before it creates an Application.
func (b *Bundle) afterOf(name string) []string {
	if b.laid == nil {
		return nil
	}
	return b.laid.After[name]
}

// filesOf are the files of a chart, and of those in it.
func filesOf(ch *chart.Chart) (all []string) {
	if ch == nil {
		return nil
	}
	for _, f := range ch.Raw {
		all = append(all, f.Name+"\x00"+string(f.Data))
	}
	for _, d := range ch.Dependencies() {
		for _, file := range filesOf(d) {
			all = append(all, d.Name()+"/"+file)
		}
	}
	return all
}

// attribute adds a document of the bundle to the releases that it is of.
func attribute(n *yamlv3.Node, components []recipe.Component, of map[string][]string, shared *[]string) error {
	text, err := plainText(n)
	if err != nil {
		return err
	}
	name, namespace := yamlx.Text(n, "metadata", "name"), yamlx.Text(n, "metadata", "namespace")
	found := false
	to := func(component, text string) {
		of[component], found = append(of[component], text), true
	}
	switch kind := yamlx.Text(n, "kind"); {
	case kind == "" && yamlx.Find(n, "releases") != nil: // a level of helmfile
		for _, r := range yamlx.Find(n, "releases").Content {
			text, err := plainText(r)
			if err != nil {
				return err
			}
			to(yamlx.Text(r, "name"), text)
		}
		rest := yamlx.Clone(n)
		for _, field := range []string{"releases", "repositories"} { // their addresses are those of the charts
			yamlx.Drop(rest, field)
		}
		if text, err = plainText(rest); err != nil {
			return err
		}
		*shared = append(*shared, text)
		return nil
	case kind == "", kind == "Application" && !isOne(components, name), kind == "HelmRepository": // whose address is that of the charts
		return nil
	case kind == "Application" || kind == "HelmRelease":
		to(name, text)
	case kind == "Namespace" || namespace != "":
		for i := range components {
			if in := components[i].Namespace; in == namespace && namespace != "" || kind == "Namespace" && in == name {
				to(components[i].Name, text)
			}
		}
	}
	if !found {
		*shared = append(*shared, text)
	}
	return nil
}

// plainText is a document without its comments and its style.
func plainText(n *yamlv3.Node) (string, error) {
	var value any
	if err := n.Decode(&value); err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	if err != nil { // keys that are no texts
		text, err = yamlx.Encode([]*yamlv3.Node{n})
	}
	return string(text), err
}

// isOne reports whether an Application is that of a component, and not the one with which the lane starts.
func isOne(components []recipe.Component, name string) bool {
	return slices.ContainsFunc(components, func(c recipe.Component) bool { return c.Name == name })
}

// saidBesides adds what the objects of Flux and Argo CD say besides the releases.
func (b *Bundle) saidBesides(of map[string][]string, shared *[]string) error {
	if b.laid == nil {
		return nil
	}
	for _, c := range b.laid.Checks {
		c.At.File, c.At.Line = "", 0
		releases := c.Releases
		c.Releases = nil
		text := fmt.Sprintf("%+v", c)
		for _, name := range releases {
			of[name] = append(of[name], text)
		}
		if len(releases) == 0 {
			*shared = append(*shared, text)
		}
	}
	for name, member := range b.laid.Projects {
		if member.Project == nil {
			continue
		}
		project := *member.Project
		project.At.File, project.At.Line = "", 0
		text, err := json.Marshal([]any{project, member.Server, member.Cluster})
		if err != nil {
			return err
		}
		of[name] = append(of[name], string(text))
	}
	return nil
}
