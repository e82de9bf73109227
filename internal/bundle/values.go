package bundle

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

func copyMap(m map[string]any) map[string]any { return document.CopyValue(m).(map[string]any) }

// at returns the value at a dotted path.
func at(values map[string]any, path string) (any, bool) {
	var v any = values
	for _, key := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

// put sets the value at a dotted path and makes the maps on the way. A null on the way is replaced;
// any other value that is not a map is an error.
func put(values map[string]any, path string, value any) error {
	keys := strings.Split(path, ".")
	m := values
	for i, key := range keys[:len(keys)-1] {
		switch next := m[key].(type) {
		case map[string]any:
			m = next
		case nil:
			made := map[string]any{}
			m[key] = made
			m = made
		default:
			return fmt.Errorf("the value at %s is not a map but %v, so nothing can be set at %s", strings.Join(keys[:i+1], "."), next, path)
		}
	}
	m[keys[len(keys)-1]] = value
	return nil
}

// marshal writes YAML with sorted keys, so that the same values always give the same bytes.
func marshal(v any) ([]byte, error) { return yaml.Marshal(v) }

// readValues reads values as `helm --values FILE` does, so that a number or null means to a
// rendering in this process what it means to the one on a person's command line.
func readValues(data []byte) (map[string]any, error) {
	v, err := chartutil.ReadValues(data)
	return v, err
}
