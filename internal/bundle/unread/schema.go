package unread

import (
	"encoding/json"
	"strings"
)

// inSchema reports whether a chart's values.schema.json names a value: each of the keys as a
// property, or as one of those that a pattern or a schema for other properties admits. A schema
// that only leaves room for more names nothing.
func inSchema(text []byte, keys []string) bool {
	if len(text) == 0 {
		return false
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return false // Helm says so when it renders
	}
	return (&schema{root: root}).names(root, keys, 0)
}

type schema struct{ root any }

// mostSteps bounds references that lead to themselves.
const mostSteps = 64

func (s *schema) names(at any, keys []string, steps int) bool {
	m, ok := at.(map[string]any)
	if !ok || steps > mostSteps {
		return false
	}
	if len(keys) == 0 {
		return true
	}
	if ref, ok := m["$ref"].(string); ok {
		target, local := s.resolve(ref)
		if !local || s.names(target, keys, steps+1) {
			return true // what is in another document cannot be told
		}
	}
	for _, each := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[each].([]any)
		for _, one := range list {
			if s.names(one, keys, steps+1) {
				return true
			}
		}
	}
	if properties, ok := m["properties"].(map[string]any); ok {
		if property, ok := properties[keys[0]]; ok {
			return s.names(property, keys[1:], steps+1)
		}
	}
	if patterns, ok := m["patternProperties"].(map[string]any); ok && len(patterns) > 0 {
		return true
	}
	more, ok := m["additionalProperties"].(map[string]any)
	return ok && s.names(more, keys[1:], steps+1)
}

// resolve follows a reference within the document.
func (s *schema) resolve(ref string) (target any, local bool) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	at := s.root
	for _, key := range strings.Split(path, "/") {
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
	}
	return at, true
}
