package argoapi

import (
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// MergePatch merges a mapping into another one (RFC 7386): null removes, lists are replaced.
func MergePatch(into, patch *yamlv3.Node) {
	for i := 0; i+1 < len(patch.Content); i += 2 {
		key, value := patch.Content[i], patch.Content[i+1]
		have := yamlx.Find(into, key.Value)
		switch {
		case have != nil && have.Kind == yamlv3.MappingNode && value.Kind == yamlv3.MappingNode:
			MergePatch(have, value)
			continue
		case have != nil:
			yamlx.Drop(into, key.Value)
		}
		if value.Tag != "!!null" {
			into.Content = append(into.Content, key, value)
		}
	}
}

// OverlayValues lays a mapping of values over another one, as Flux does: null is a value.
func OverlayValues(into, over *yamlv3.Node) {
	for i := 0; i+1 < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		have := yamlx.Find(into, key.Value)
		if have != nil && have.Kind == yamlv3.MappingNode && value.Kind == yamlv3.MappingNode {
			OverlayValues(have, value)
			continue
		}
		yamlx.Drop(into, key.Value)
		into.Content = append(into.Content, key, value)
	}
}
