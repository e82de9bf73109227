package kustomizations

import (
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Of is a Kustomization, which another one applies or none, without its HelmReleases.
func Of(o, parent *yamlv3.Node) *Node {
	n := &Node{DependsOn: DependsOn(o), Waits: yamlx.Text(o, "spec", "wait") == "true"}
	if parent != nil {
		n.Parent = yamlx.Text(parent, "metadata", "name")
	}
	list := yamlx.Find(o, "spec", "healthChecks")
	for i := 0; list != nil && i < len(list.Content); i++ {
		switch c := list.Content[i]; {
		case strings.HasPrefix(yamlx.Text(c, "apiVersion"), "helm.toolkit.fluxcd.io/"):
			n.Checks = append(n.Checks, yamlx.Text(c, "name"))
		case strings.HasPrefix(yamlx.Text(c, "apiVersion"), "kustomize.toolkit.fluxcd.io/"):
			n.CheckedChildren = append(n.CheckedChildren, yamlx.Text(c, "name"))
		}
	}
	return n
}

// DependsOn are the names of what an object of Flux depends on.
func DependsOn(o *yamlv3.Node) []string {
	var names []string
	if list := yamlx.Find(o, "spec", "dependsOn"); list != nil {
		for _, item := range list.Content {
			names = append(names, yamlx.Text(item, "name"))
		}
	}
	return names
}
