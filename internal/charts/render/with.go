package render

import "encoding/json"

// withKustomization gives a kustomization, as JSON, these resources, and takes fields from it.
func withKustomization(kustomization string, resources []string, without ...string) ([]byte, error) {
	fields := map[string]any{}
	if err := json.Unmarshal([]byte(kustomization), &fields); err != nil {
		return nil, err
	}
	for _, field := range without {
		delete(fields, field)
	}
	fields["resources"] = resources
	return json.Marshal(fields)
}
