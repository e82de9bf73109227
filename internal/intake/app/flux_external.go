package app

import (
	"path"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const (
	kindExternal  = "ExternalArtifact"
	kindGenerator = "ArtifactGenerator" // of Flux's source-watcher, which makes ExternalArtifacts
)

// external gives objects whose Kustomizations of an ExternalArtifact have the path in this repository that is copied
// there. The generators themselves are left out: what they would copy is here.
func (f *fluxApp) external(objects []object) []object {
	var rest []object
	for _, o := range objects {
		if o.Kind() == kindGenerator && strings.HasSuffix(o.Group(), ".fluxcd.io") {
			f.generators = append(f.generators, o)
			continue
		}
		rest = append(rest, o)
	}
	for i, o := range rest {
		if !isKustomization(o) || yamlx.Text(o.Node, "spec", "sourceRef", "kind") != kindExternal {
			continue
		}
		if dir, ok := f.copiedFrom(yamlx.Text(o.Node, "spec", "sourceRef", "name"), pathOf(o)); ok {
			node := yamlx.Clone(o.Node)
			yamlx.Set(child(node, "spec"), "path", "!!str", dir)
			rest[i] = checkout.New(o.File, node)
		}
	}
	return rest
}

// copiedFrom is the directory of this repository that an artifact has at a path, by the generator that makes it.
func (f *fluxApp) copiedFrom(artifact, at string) (dir string, ok bool) {
	longest := -1
	for _, g := range f.generators {
		artifacts, sources := yamlx.Find(g.Node, "spec", "artifacts"), yamlx.Find(g.Node, "spec", "sources")
		if artifacts == nil || sources == nil {
			continue
		}
		own := map[string]bool{}
		for _, s := range sources.Content {
			own[yamlx.Text(s, "alias")] = yamlx.Text(s, "kind") == kindGitSource
		}
		for _, a := range artifacts.Content {
			list := yamlx.Find(a, "copy")
			if yamlx.Text(a, "name") != artifact || list == nil {
				continue
			}
			for _, c := range list.Content {
				alias, from, _ := strings.Cut(strings.TrimPrefix(yamlx.Text(c, "from"), "@"), "/")
				to := path.Clean(strings.TrimPrefix(strings.TrimPrefix(yamlx.Text(c, "to"), "@artifact"), "/"))
				from, whole := strings.CutSuffix(from, "**")
				if !whole || !own[alias] || !below(to, at) || len(to) <= longest {
					continue
				}
				longest, ok = len(to), true
				dir = path.Join(from, strings.TrimPrefix(at, strings.TrimSuffix(to, ".")))
			}
		}
	}
	return path.Clean(dir), ok
}
