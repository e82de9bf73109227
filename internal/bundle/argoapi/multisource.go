package argoapi

// multisource.go takes an Application of several sources apart. It must not know files or clusters.

import (
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// SplitSources gives an Application for each source of one that makes objects, with those sources that only have
// values of it; nil if there is at most one. The first keeps the name; releases keep the name that they
// have in the whole, which is the Application's. isChart reports whether a source is a chart.
func SplitSources(o *yamlv3.Node, isChart func(source *yamlv3.Node) bool) []*yamlv3.Node {
	list, name := yamlx.Find(o, "spec", "sources"), yamlx.Text(o, "metadata", "name")
	if list == nil || list.Kind != yamlv3.SequenceNode {
		return nil
	}
	var values, sources []*yamlv3.Node
	for _, s := range list.Content {
		if yamlx.Text(s, "ref") != "" {
			values = append(values, s)
		}
		if yamlx.Text(s, "path")+yamlx.Text(s, "chart") != "" || yamlx.Text(s, "ref") == "" {
			sources = append(sources, s)
		}
	}
	if len(sources) < 2 {
		return nil
	}
	var all []*yamlv3.Node
	for i, s := range sources {
		part := yamlx.Clone(o)
		if i > 0 {
			yamlx.Set(yamlx.Find(part, "metadata"), "name", "!!str", fmt.Sprintf("%s-%d", name, i+1))
		}
		s = yamlx.Clone(s)
		yamlx.Drop(s, "ref")
		if yamlx.Text(s, "helm", "releaseName") == "" && isChart(s) {
			helm := yamlx.Find(s, "helm")
			if helm == nil {
				helm = &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map"}
				s.Content = append(s.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: "helm"}, helm)
			}
			yamlx.Set(helm, "releaseName", "!!str", name)
		}
		kept := []*yamlv3.Node{s}
		for _, v := range values {
			if names(s, "$"+yamlx.Text(v, "ref")+"/") {
				v = yamlx.Clone(v)
				for _, key := range []string{"path", "chart", "helm", "kustomize", "directory"} {
					yamlx.Drop(v, key)
				}
				kept = append(kept, v)
			}
		}
		yamlx.Find(part, "spec", "sources").Content = kept
		all = append(all, part)
	}
	return all
}

// names reports whether a source has a values file whose name begins so.
func names(s *yamlv3.Node, prefix string) bool {
	files := yamlx.Find(s, "helm", "valueFiles")
	for i := 0; files != nil && i < len(files.Content); i++ {
		if strings.HasPrefix(files.Content[i].Value, prefix) {
			return true
		}
	}
	return false
}
