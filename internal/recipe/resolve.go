package recipe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// ResultKind is the kind of a resolved recipe's document.
const ResultKind = "RecipeResult"

// Resolve makes the recipe for the systems that the query describes. Errors are *FileErrors, joined
// if there are several.
func (s *Store) Resolve(query Criteria) (*Result, error) {
	return s.resolve(query, func(*Overlay) bool { return true })
}

// resolve is Resolve with the overlays that match and fit.
func (s *Store) resolve(query Criteria, fits func(*Overlay) bool) (*Result, error) {
	applied := s.applied(query.bare(), fits)
	m, err := s.merge(applied)
	if err != nil {
		return nil, err
	}
	order, err := m.order()
	if err != nil {
		return nil, fmt.Errorf("ordering the components of %s: %w", strings.Join(applied, ", "), err)
	}
	r := &Result{
		APIVersion:      APIVersion,
		Kind:            ResultKind,
		Metadata:        Metadata{AppliedOverlays: applied},
		Criteria:        query.spelled(),
		ComponentRefs:   []ComponentRef{},
		DeploymentOrder: order,
	}
	for _, name := range slices.Sorted(maps.Keys(m.constraints)) {
		r.Constraints = append(r.Constraints, m.constraints[name])
	}
	for _, name := range m.names() {
		c := m.components[name]
		ref := c.ref
		ref.Overrides = c.overrides.mapValue()
		s.registry[name].defaults(&ref)
		r.ComponentRefs = append(r.ComponentRefs, ref)
	}
	if len(m.validation) > 0 {
		r.Validation = CopyValue(m.validation).(map[string]any)
		r.validationLines = m.lines
	}
	return r, nil
}

// ResolveName makes the recipe of one overlay: of the query for the overlay's effective criteria.
// The error is an *UnknownRecipeError if there is no such overlay.
func (s *Store) ResolveName(name string) (*Result, error) {
	o, ok := s.overlays[name]
	if !ok {
		known := s.Names()
		return nil, &UnknownRecipeError{Name: name, Known: known, Suggestion: Similar(name, known)}
	}
	r, err := s.Resolve(o.Effective)
	if err != nil {
		return nil, fmt.Errorf("resolving recipe %q: %w", name, err)
	}
	// What is tested under a recipe's name must have that recipe in it.
	if !slices.Contains(r.Metadata.AppliedOverlays, name) {
		return nil, errorAt(o.Origin, "the query for overlay %q does not apply it, only %s; correct its criteria", name, strings.Join(r.Metadata.AppliedOverlays, ", "))
	}
	r.Metadata.Name = name
	return r, nil
}

// YAML is the result as a document. The same result gives the same bytes.
func (r *Result) YAML() ([]byte, error) {
	printed := *r
	printed.Criteria = r.Criteria.spelled()
	var out bytes.Buffer
	// Field by field, so that the document reads from the general to the particular; within fields,
	// keys are sorted.
	for _, f := range []struct {
		name  string
		value any
		skip  bool
	}{
		{"apiVersion", printed.APIVersion, false},
		{"kind", printed.Kind, false},
		{"metadata", printed.Metadata, false},
		{"criteria", printed.Criteria, false},
		{"constraints", printed.Constraints, len(r.Constraints) == 0},
		{"componentRefs", printed.ComponentRefs, false},
		{"deploymentOrder", printed.DeploymentOrder, false},
		{"validation", printed.Validation, len(r.Validation) == 0},
	} {
		if f.skip {
			continue
		}
		part, err := yaml.Marshal(map[string]any{f.name: f.value})
		if err != nil {
			return nil, fmt.Errorf("writing %s of the resolved recipe as YAML: %w", f.name, err)
		}
		out.Write(part)
	}
	return out.Bytes(), nil
}

// JSON is the result as YAML has it, as JSON. The same result gives the same bytes.
func (r *Result) JSON() ([]byte, error) {
	printed := *r
	printed.Criteria = r.Criteria.spelled()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // ">= 1.30" is for people too
	if err := enc.Encode(&printed); err != nil {
		return nil, fmt.Errorf("writing the resolved recipe as JSON: %w", err)
	}
	return out.Bytes(), nil
}
