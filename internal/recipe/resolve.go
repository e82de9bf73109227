package recipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"sigs.k8s.io/yaml"
)

// Resolve makes the recipe for the systems that the query describes. Errors are *FileErrors, joined
// if there are several.
func (s *Store) Resolve(query Criteria) (*Result, error) {
	return s.ResolveWith(query, Choices{})
}

// Choices are what a recipe leaves to choose besides its criteria. What is not chosen has AICR's
// default.
type Choices struct {
	Profile       ProfileSelection
	Configuration ConfigurationChoice
}

// ResolveWith is Resolve with choices.
func (s *Store) ResolveWith(query Criteria, choices Choices) (*Result, error) {
	return s.resolve(query, s.applied(query.Bare(), func(*Overlay) bool { return true }), choices, nil)
}

// resolve is ResolveWith with these overlays. The constraints of a profile must hold on the measured
// system, if there is one.
func (s *Store) resolve(query Criteria, applied []string, choices Choices, measure Measure) (*Result, error) {
	m, err := s.merge(applied)
	if err != nil {
		return nil, err
	}
	if err := s.covered(query, applied, measure != nil); err != nil {
		return nil, err
	}
	selected, err := s.applyProfile(m, applied, choices.Profile, measure)
	if err != nil {
		return nil, err
	}
	configured, err := s.configure(m, query, choices.Configuration, selected)
	if err != nil {
		return nil, err
	}
	order, err := m.order()
	if err != nil {
		return nil, fmt.Errorf("ordering the components of %s: %w", strings.Join(applied, ", "), err)
	}
	r := &Result{
		APIVersion:      document.ResultVersion(s.newest, selected != nil || configured != nil),
		Kind:            document.ResultKind,
		Metadata:        Metadata{AppliedOverlays: applied, SelectedProfile: selected},
		Criteria:        query.Spelled(),
		Configuration:   configured,
		ComponentRefs:   []ComponentRef{},
		DeploymentOrder: order,
	}
	for _, name := range slices.Sorted(maps.Keys(m.constraints)) {
		r.Constraints = append(r.Constraints, m.constraints[name])
	}
	var incoherent document.Problems
	for _, name := range m.names() {
		c := m.components[name]
		ref := c.ref
		ref.Overrides = c.overrides.MapValue()
		s.registry[name].defaults(&ref)
		if err := s.coherent(&ref, c, m); err != nil {
			incoherent.AddAll([]*FileError{err})
		}
		r.ComponentRefs = append(r.ComponentRefs, ref)
	}
	if err := incoherent.Err(); err != nil {
		return nil, fmt.Errorf("resolving %s: %w", strings.Join(applied, ", "), err)
	}
	if len(m.validation) > 0 {
		r.Validation = document.CopyValue(m.validation).(map[string]any)
		r.validationLines = m.lines
	}
	return r, nil
}

// mergedOf makes again what a result was made of, with the places of everything.
func (s *Store) mergedOf(r *Result) (*merged, error) {
	m, err := s.merge(r.Metadata.AppliedOverlays)
	if err != nil {
		return nil, err
	}
	if selected := r.Metadata.SelectedProfile; selected != nil {
		if _, err := s.applyProfile(m, r.Metadata.AppliedOverlays, ProfileSelection{Name: selected.Name, Value: selected.Value}, nil); err != nil {
			return nil, err
		}
	}
	if r.Configuration != nil {
		if _, err := s.configure(m, r.Criteria, r.Configuration.Choice(), r.Metadata.SelectedProfile); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// configure puts the values that follow from a choice on top of everything else.
func (s *Store) configure(m *merged, query Criteria, choice ConfigurationChoice, selected *ProfileSelected) (*Configuration, error) {
	m.installs = m.installs || choice != ConfigurationChoice{} // overrides.install came with these choices
	if name := choice.Granted(query.Service); name != "" && m.components[name] == nil && s.registry[name].registryEntry != nil {
		c := &mergedComponent{declared: s.registry[name].origin, ref: ComponentRef{Name: name}}
		if file := "components/" + name + "/values.yaml"; s.values[file] != nil {
			c.ref.ValuesFile, c.values = file, c.declared
		}
		m.components[name] = c
	}
	has := func(name string) bool { return m.components[name] != nil }
	on := func(name string) bool {
		ref := m.components[name].ref
		ref.Overrides = m.components[name].overrides.MapValue()
		enabled, err := m.enabled(ref)
		return err == nil && enabled
	}
	made, overrides, err := configurationOf(configurationRecipe{
		Platform: query.Platform, Service: query.Service, Accelerator: query.Accelerator, BringsTCPXO: has(trainer) && on(trainer) && m.components[trainer].ref.bringsTCPXO(), Has: has, On: on,
	}, choice)
	if err != nil {
		return nil, err
	}
	m.installs = m.installs || made != nil
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		c := m.components[name]
		tree := document.TreeFrom(overrides[name], nil, c.declared)
		if selected != nil {
			for path := range tree.Leaves() {
				if slices.Contains(selected.OwnedPaths[name], path) {
					return nil, document.ErrorAt(c.declared, "%s of component %q is decided by the profile %q and by the recipe's configuration (AICR's ADR-016); correct the profile", path, name, selected.Name)
				}
			}
		}
		c.overrides = document.MergeTrees(c.overrides, tree)
	}
	return made, nil
}

// ResolveName makes the recipe of one overlay: of the query for the overlay's effective criteria.
// The name may be that of a Variant. The error is an *unknownRecipeError if there is no such
// overlay.
func (s *Store) ResolveName(name string) (*Result, error) {
	o, selection, ok := s.variant(name)
	if !ok {
		return nil, unknownRecipe(name, s.Names())
	}
	r, err := s.resolveAnywhere(o.Effective, Choices{Profile: selection})
	if err != nil {
		return nil, fmt.Errorf("resolving recipe %q: %w", name, err)
	}
	// What is tested under a recipe's name must have that recipe in it.
	if !slices.Contains(r.Metadata.AppliedOverlays, o.Name) {
		return nil, document.ErrorAt(o.Origin, "the query for overlay %q does not apply it, only %s; correct its criteria", name, strings.Join(r.Metadata.AppliedOverlays, ", "))
	}
	r.Metadata.Name = name
	return r, nil
}

// resolveAnywhere is ResolveWith where there is no cluster, so that samples stand for what a recipe has to be told of it.
func (s *Store) resolveAnywhere(query Criteria, choices Choices) (*Result, error) {
	r, err := s.ResolveWith(query, choices)
	if errors.Is(err, errNoInterfaces) {
		choices.Configuration.Interfaces = sampleInterfaces()
		r, err = s.ResolveWith(query, choices)
	}
	return r, err
}

// YAML is the result as a document. The same result gives the same bytes.
func (r *Result) YAML() ([]byte, error) {
	printed := *r
	printed.Criteria = r.Criteria.Spelled()
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
		{"configuration", printed.Configuration, r.Configuration == nil},
		{"constraints", printed.Constraints, len(r.Constraints) == 0},
		{"componentRefs", printedRefs(r), false},
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
	printed.Criteria = r.Criteria.Spelled()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // ">= 1.30" is for people too
	if err := enc.Encode(struct {
		Result
		ComponentRefs any `json:"componentRefs"` // in place of the Result's
	}{printed, printedRefs(r)}); err != nil {
		return nil, fmt.Errorf("writing the resolved recipe as JSON: %w", err)
	}
	return out.Bytes(), nil
}

// printedRefs gives the components as the documents of the result's apiVersion have them: since July
// each has a source, which may be empty.
func printedRefs(r *Result) any {
	if document.GenerationOf(r.APIVersion) == document.March {
		return r.ComponentRefs
	}
	type printed struct {
		ComponentRef
		Source string `json:"source"` // in place of the ComponentRef's
	}
	refs := []printed{}
	for _, ref := range r.ComponentRefs {
		refs = append(refs, printed{ref, ref.Source})
	}
	return refs
}
