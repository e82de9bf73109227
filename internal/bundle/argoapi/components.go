package argoapi

import (
	"slices"

	"sigs.k8s.io/yaml"
)

// WithComponents adds components to a kustomization, behind its last line if it has none.
func WithComponents(content []byte, components []string) ([]byte, error) {
	var fields map[string]any
	if err := yaml.Unmarshal(content, &fields); err != nil {
		return nil, err
	}
	added, err := yaml.Marshal(map[string]any{"components": components})
	if err != nil {
		return nil, err
	}
	list, _ := fields["components"].([]any)
	if len(list) == 0 && fields["components"] == nil {
		return slices.Concat(content, []byte("\n"), added), nil
	}
	for _, c := range components {
		list = append(list, c)
	}
	fields["components"] = list
	return yaml.Marshal(fields)
}
