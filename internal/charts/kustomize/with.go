package kustomize

import "encoding/json"

// With gives a kustomization, as JSON, these resources.
func With(kustomization string, resources []string) ([]byte, error) {
	fields := map[string]any{}
	if err := json.Unmarshal([]byte(kustomization), &fields); err != nil {
		return nil, err
	}
	fields["resources"] = resources
	return json.Marshal(fields)
}
