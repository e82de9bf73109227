package recipe

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Hydrate gives the result as one map of plain values for Select: the result's own fields, but with
// the components by name, and in each its merged values in place of its overrides. Components that
// the bundle leaves out are in it.
func (s *Store) Hydrate(r *Result) (map[string]any, error) {
	m, err := s.mergedOf(r)
	if err != nil {
		return nil, err
	}
	doc, err := plain(r)
	if err != nil {
		return nil, err
	}
	delete(doc, "componentRefs")
	if criteria, err := plain(r.Criteria.Spelled()); err == nil {
		criteria["nodes"] = int64(r.Criteria.Nodes) // 0 is a value too, as it is for AICR's own CLI
		doc["criteria"] = criteria
	}
	components := map[string]any{}
	var p document.Problems
	for _, ref := range r.ComponentRefs {
		c, found := s.hydrate(m, ref)
		p.AddAll(found)
		if len(found) > 0 {
			continue
		}
		ref.Overrides, ref.Chart = nil, c.Chart
		fields, err := plain(ref)
		if err != nil {
			return nil, err
		}
		fields["source"] = ref.Source
		fields["values"] = c.Values
		components[ref.Name] = fields
	}
	if err := p.Err(); err != nil {
		return nil, fmt.Errorf("reading the components of the recipe: %w", err)
	}
	doc["components"] = components
	return doc, nil
}

// plain gives v as maps, lists and scalars, under its json names.
func plain(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing the recipe as JSON: %w", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber() // so that integers stay integers
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("reading the recipe back from JSON: %w", err)
	}
	return numbers(m).(map[string]any), nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64() // it was a float64 before it was JSON
		return f
	}
	return v
}
