package app

import (
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/app/checkout"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// split gives an Application for each source of one that makes objects, with those that only have
// values. The first keeps the name; the releases keep theirs, which is the Application's.
func (l *layout) split(o object) []object {
	list := yamlx.Find(o.Node, "spec", "sources")
	if list == nil || list.Kind != yamlv3.SequenceNode {
		return nil
	}
	makes := func(s *yamlv3.Node) bool {
		return yamlx.Text(s, "path")+yamlx.Text(s, "chart") != "" || yamlx.Text(s, "ref") == ""
	}
	var values, sources []*yamlv3.Node
	for _, s := range list.Content {
		if yamlx.Text(s, "ref") != "" {
			values = append(values, s)
		}
		if makes(s) {
			sources = append(sources, s)
		}
	}
	if len(sources) < 2 {
		return nil
	}
	var all []object
	var names []string
	for i, s := range sources {
		part := checkout.New(o.File, yamlx.Clone(o.Node))
		if i > 0 {
			name := fmt.Sprintf("%s-%d", o.Name(), i+1)
			yamlx.Set(child(part.Node, "metadata"), "name", "!!str", name)
			l.After[name] = slices.Clone(l.After[o.Name()])
			names = append(names, name)
		}
		s = yamlx.Clone(s)
		yamlx.Drop(s, "ref")
		if dir := yamlx.Text(s, "path"); yamlx.Text(s, "chart") != "" || l.repo.Has(strings.TrimPrefix(dir+"/"+chartFile, "/")) {
			if helm := child(s, "helm"); yamlx.Text(helm, "releaseName") == "" {
				yamlx.Set(helm, "releaseName", "!!str", o.Name())
			}
		}
		kept := []*yamlv3.Node{s}
		for _, v := range values { // only one that its values are from
			if strings.Contains(valuesNamed(s), "$"+yamlx.Text(v, "ref")+"/") {
				v = yamlx.Clone(v)
				for _, key := range []string{"path", "chart", "helm", "kustomize", "directory"} {
					yamlx.Drop(v, key)
				}
				kept = append(kept, v)
			}
		}
		yamlx.Find(part.Node, "spec", "sources").Content = kept
		all = append(all, part)
	}
	for name, before := range l.After {
		if slices.Contains(before, o.Name()) {
			l.After[name] = append(before, names...)
		}
	}
	l.override("Application %s (%s) has %d sources that make objects: each is an Application of its own (%s), without the order of sync waves and hooks between them", o.Name(), l.repo.At(o), len(sources), strings.Join(append([]string{o.Name()}, names...), ", "))
	return all
}

// valuesNamed is the text of a source's values files.
func valuesNamed(s *yamlv3.Node) string {
	files := yamlx.Find(s, "helm", "valueFiles")
	if files == nil {
		return ""
	}
	var all []string
	for _, n := range files.Content {
		all = append(all, n.Value)
	}
	return strings.Join(all, "\n")
}
