package fluxapi

import (
	"cmp"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// KustomizationOf is a Kustomization, which another one applies or none, without its HelmReleases.
func KustomizationOf(o, parent *yamlv3.Node) *KustomizationNode {
	n := &KustomizationNode{DependsOn: DependsOn(o), Waits: yamlx.Text(o, "spec", "wait") == "true"}
	if parent != nil {
		n.Parent = KustomizationKey(parent)
	}
	list := yamlx.Find(o, "spec", "healthChecks")
	for i := 0; list != nil && i < len(list.Content); i++ {
		switch c := list.Content[i]; {
		case strings.HasPrefix(yamlx.Text(c, "apiVersion"), "helm.toolkit.fluxcd.io/"):
			n.Checks = append(n.Checks, yamlx.Text(c, "name"))
		case strings.HasPrefix(yamlx.Text(c, "apiVersion"), "kustomize.toolkit.fluxcd.io/"):
			n.CheckedChildren = append(n.CheckedChildren, keyOf(c, o))
		}
	}
	return n
}

// KustomizationKey tells a Kustomization from others: its namespace, if its file or what applies it says one, and its name.
func KustomizationKey(o *yamlv3.Node) string { return keyOf(yamlx.Find(o, "metadata"), o) }

// keyOf is the key that a reference of an object means.
func keyOf(ref, o *yamlv3.Node) string {
	return cmp.Or(yamlx.Text(ref, "namespace"), yamlx.Text(o, "metadata", "namespace")) + "/" + yamlx.Text(ref, "name")
}

// DependsOn are the keys of what a Kustomization depends on.
func DependsOn(o *yamlv3.Node) []string {
	var keys []string
	if list := yamlx.Find(o, "spec", "dependsOn"); list != nil {
		for _, item := range list.Content {
			keys = append(keys, keyOf(item, o))
		}
	}
	return keys
}
