package bundle

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
	return (&unusedSchema{root: root, seen: map[followed]bool{}}).names(root, keys)
}

type unusedSchema struct {
	root any
	// seen are the references that were followed and named nothing. Two references in each of n definitions
	// to the next one are 2ⁿ ways otherwise, and one that leads to itself has no end.
	seen map[followed]bool
}

// followed is a reference, with the number of the keys that were left then.
type followed struct {
	ref  string
	keys int
}

func (s *unusedSchema) names(at any, keys []string) bool {
	m, ok := at.(map[string]any)
	if !ok {
		return false
	}
	if len(keys) == 0 {
		return true
	}
	if ref, ok := m["$ref"].(string); ok && !s.seen[followed{ref, len(keys)}] {
		s.seen[followed{ref, len(keys)}] = true
		target, local := s.resolve(ref)
		if !local || s.names(target, keys) {
			return true // what is in another document cannot be told
		}
	}
	for _, each := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[each].([]any)
		for _, one := range list {
			if s.names(one, keys) {
				return true
			}
		}
	}
	if properties, ok := m["properties"].(map[string]any); ok {
		if property, ok := properties[keys[0]]; ok {
			return s.names(property, keys[1:])
		}
	}
	if patterns, ok := m["patternProperties"].(map[string]any); ok && len(patterns) > 0 {
		return true
	}
	more, ok := m["additionalProperties"].(map[string]any)
	return ok && s.names(more, keys[1:])
}

// resolve follows a reference within the document.
func (s *unusedSchema) resolve(ref string) (target any, local bool) {
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
