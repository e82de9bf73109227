package intake

// schedulingpaths.go finds in the values of another program's bundle what steers pods to nodes. It must
// not know files.

import (
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// schedulingPathsOf finds the value paths that steer pods by their content: a selector by node type, and
// tolerations. A bundle has no registry that names these paths. It needs none, because the program
// that made the bundle has already set the values.
func schedulingPathsOf(values map[string]any) recipe.NodeScheduling {
	var s recipe.NodeScheduling
	var walk func(m map[string]any, above string)
	walk = func(m map[string]any, above string) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if strings.Contains(key, ".") {
				continue // no dotted path leads there
			}
			at := above + key
			switch value := m[key].(type) {
			case map[string]any:
				switch nodeKindOf(value) {
				case bundle.NodeSystem:
					s.System.NodeSelectorPaths = append(s.System.NodeSelectorPaths, at)
				case bundle.NodeAccelerated:
					s.Accelerated.NodeSelectorPaths = append(s.Accelerated.NodeSelectorPaths, at)
				default:
					walk(value, at+".")
				}
			case []any:
				switch ok, gpu := tolerations(value, key); {
				case gpu:
					s.Accelerated.TolerationPaths = append(s.Accelerated.TolerationPaths, at)
				case ok:
					s.System.TolerationPaths = append(s.System.TolerationPaths, at)
				}
			}
		}
	}
	walk(values, "")
	return s
}

// tolerations reports whether a list is one of tolerations, and whether it tolerates the taint of
// nodes with GPUs by name.
func tolerations(list []any, key string) (ok, gpu bool) {
	if len(list) == 0 {
		return strings.HasSuffix(strings.ToLower(key), "tolerations"), false
	}
	for _, item := range list {
		m, isMap := item.(map[string]any)
		if !isMap {
			return false, false
		}
		_, hasOperator := m["operator"]
		_, hasEffect := m["effect"]
		if !hasOperator && !hasEffect {
			return false, false
		}
		gpu = gpu || m["key"] == "nvidia.com/gpu"
	}
	return true, gpu
}

// nodeKindOf is bundle.NodeKindOf for values, which may be anything.
func nodeKindOf(value map[string]any) bundle.NodeKind {
	labels := map[string]string{}
	for key, v := range value {
		if text, ok := v.(string); ok {
			labels[key] = text
		}
	}
	return bundle.NodeKindOf(labels)
}
