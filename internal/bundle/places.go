package bundle

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// places says of each workload where its pods come from. It is never nil.
func places(k *recipe.Kustomization, objects []render.KustomizationObject) []recipe.Place {
	all := []recipe.Place{}
	for i := range objects {
		o := &objects[i]
		if render.PodSpecPath(o.Kind) == nil {
			continue
		}
		p := recipe.Place{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Kustomization: k.File}
		p.From, p.Fields = written(k, o)
		for _, c := range o.Changed {
			at := recipe.Origin{}
			if c.Patch >= 0 {
				at = k.Patches[c.Patch].Origin
			} else {
				at = entry(k, &c)
			}
			p.Patches = append(p.Patches, recipe.PlacePatch{Origin: at, Parts: c.Parts})
		}
		all = append(all, p)
	}
	return all
}

func documents(k *recipe.Kustomization, file string) []*yaml.Node {
	for _, f := range k.Files {
		if f.Path == file {
			docs, _ := yamlx.Documents(f.Content) // it was read before, and what is behind a fault is in no object
			return docs
		}
	}
	return nil
}

// written finds an object in its file, and the lines of the parts of its pod specification.
// Kustomize may have given the object another name: then the document of its kind whose name is a
// part of that one counts, or the only one.
func written(k *recipe.Kustomization, o *render.KustomizationObject) (recipe.Origin, map[string]recipe.Origin) {
	file := display(k, o.From)
	var best *yaml.Node
	rank := 0
	for _, doc := range documents(k, o.From) {
		root := doc
		if len(doc.Content) > 0 {
			root = doc.Content[0]
		}
		if _, kind := child(root, "kind"); kind == nil || kind.Value != o.Kind {
			continue
		}
		this := 1
		if _, name := child(root, "metadata", "name"); name != nil && name.Value == o.Name {
			this = 3
		} else if name != nil && strings.Contains(o.Name, name.Value) {
			this = 2
		}
		if this > rank {
			best, rank = root, this
		}
	}
	if best == nil {
		return recipe.Origin{File: file}, nil
	}
	at, spec := child(best, render.PodSpecPath(o.Kind)...)
	if spec == nil {
		return recipe.Origin{File: file, Line: best.Line}, nil
	}
	fields := map[string]recipe.Origin{}
	for i := 0; i+1 < len(spec.Content) && spec.Kind == yaml.MappingNode; i += 2 {
		fields[spec.Content[i].Value] = recipe.Origin{File: file, Line: spec.Content[i].Line}
	}
	return recipe.Origin{File: file, Line: at.Line}, fields
}

// entry is the line of a patch in its kustomization.
func entry(k *recipe.Kustomization, c *render.KustomizationChange) recipe.Origin {
	at := recipe.Origin{File: display(k, c.File)}
	for _, doc := range documents(k, c.File) {
		if len(doc.Content) == 0 {
			continue
		}
		if key, list := child(doc.Content[0], c.Field); list != nil {
			at.Line = key.Line
			if c.Index < len(list.Content) {
				at.Line = list.Content[c.Index].Line
			}
		}
	}
	return at
}

// child follows keys; nil if there is no such value. The key is the last one.
func child(n *yaml.Node, steps ...string) (key, value *yaml.Node) {
	for _, step := range steps {
		key, value = nil, nil
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				key, value = n.Content[i], n.Content[i+1]
			}
		}
		if value == nil {
			return nil, nil
		}
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		n = value
	}
	return key, value
}
