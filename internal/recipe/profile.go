package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Variant is a recipe with one value of its profile.
type Variant struct {
	// Name is what ResolveName takes: the recipe's own name for the default value.
	Name           string
	Profile, Value string // empty if the recipe has no profile
}

// profileOf gives the one profile of the overlays; nil if they have none.
func (s *Store) profileOf(applied []string) (*Profile, error) {
	var found *Profile
	var owner string
	for _, name := range applied {
		o := s.overlays[name]
		if o == nil || o.profile == nil {
			continue
		}
		if found != nil {
			return nil, document.ErrorAt(o.profile.Origin, "overlay %q has the profile %q, and so has overlay %q at %s; a recipe has at most one", name, o.profile.Name, owner, found.Origin)
		}
		found, owner = o.profile, name
	}
	return found, nil
}

// applyProfile puts the selected value of the recipe's profile on top of everything else. The value's
// constraints must hold on the measured system, if there is one: a profile is chosen, and never
// inferred.
func (s *Store) applyProfile(m *merged, applied []string, selection ProfileSelection, measure Measure) (*ProfileSelected, error) {
	p, err := s.profileOf(applied)
	if err != nil {
		return nil, err
	}
	if p == nil {
		if selection == (ProfileSelection{}) {
			return nil, nil
		}
		return nil, fmt.Errorf("profile %s=%s was asked for, and the recipe has no profile; leave --profile away", selection.Name, selection.Value)
	}
	value, selection, err := p.Select(selection)
	if err != nil {
		return nil, err
	}
	var wrong document.Problems
	for _, component := range slices.Sorted(maps.Keys(p.Owned)) {
		on := false
		if c := m.components[component]; c != nil {
			ref := c.ref
			ref.Overrides = c.overrides.MapValue()
			enabled, err := m.enabled(ref)
			on = err == nil && enabled
		}
		if !on {
			wrong.Add(p.Origin, "profile %q sets values of component %q, which is not in the recipe or is left out of it; correct the profile or the overlays", p.Name, component)
		}
	}
	for _, c := range value.Constraints {
		if other, ok := m.constraints[c.Name]; ok {
			wrong.Add(c.Origin, "value %q of profile %q sets the constraint %q, which is also set at %s; remove one of them", selection.Value, p.Name, c.Name, other.Origin)
		}
	}
	for _, c := range value.Constraints {
		if measure == nil {
			break
		}
		switch got, err := measure(c); {
		case err != nil:
			wrong.Add(c.Origin, "constraint %s: %w", c.Name, err)
		case !got.Found:
			wrong.Add(c.Origin, "value %q of profile %q has the constraint %s %s, and the snapshot has no such reading: take it again, or resolve the recipe without it", selection.Value, p.Name, c.Name, c.Value)
		case !got.Holds:
			wrong.Add(c.Origin, "value %q of profile %q is not for this system: its constraint %s %s does not hold; the system has %s", selection.Value, p.Name, c.Name, c.Value, got.Have)
		}
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	for _, c := range value.Constraints {
		m.constraints[c.Name] = c
	}
	if err := m.addReadiness(p, selection.Value, value.Readiness); err != nil {
		return nil, err
	}
	for _, c := range value.Components {
		there := m.components[c.Name]
		there.overrides = document.MergeTrees(there.overrides, c.Overrides)
	}
	return &ProfileSelected{Name: p.Name, Value: selection.Value, Advertiser: value.Advertiser, OwnedPaths: maps.Clone(p.Owned)}, nil
}

// addReadiness appends the constraints of a running cluster to the readiness phase.
func (m *merged) addReadiness(p *Profile, value string, constraints []Constraint) error {
	if len(constraints) == 0 {
		return nil
	}
	const phase = "readiness"
	block, _ := m.validation[phase].(map[string]any)
	block = maps.Clone(block)
	if block == nil {
		block = map[string]any{}
	}
	list, _ := block["constraints"].([]any)
	lines := m.lines[phase]
	for _, c := range constraints {
		for _, old := range list {
			if named, ok := old.(map[string]any); ok && named["name"] == c.Name {
				return document.ErrorAt(c.Origin, "value %q of profile %q sets the readiness constraint %q, which the recipe has; remove one of them", value, p.Name, c.Name)
			}
		}
		fields, err := plain(c)
		if err != nil {
			return err
		}
		list, lines.constraints = append(slices.Clone(list), any(fields)), append(lines.constraints, c.Origin)
	}
	block["constraints"] = list
	m.validation[phase], m.lines[phase] = block, lines
	return nil
}

// Profile gives the profile of the recipe of that name; false if it has none.
func (s *Store) Profile(name string) (Profile, bool) {
	o, _, ok := s.variant(name)
	if !ok {
		return Profile{}, false
	}
	p, err := s.profileOf(s.applied(o.Effective, func(*Overlay) bool { return true }))
	if err != nil || p == nil {
		return Profile{}, false
	}
	return *p, true
}

// Variants gives the recipe once for each value of its profile, the default first; a recipe without a
// profile once.
func (s *Store) Variants(name string) []Variant {
	p, ok := s.Profile(name)
	if !ok {
		return []Variant{{Name: name}}
	}
	all := []Variant{{name, p.Name, p.Default}}
	for _, value := range p.Values {
		if value != p.Default {
			all = append(all, Variant{name + VariantMark + strings.ToLower(value), p.Name, value})
		}
	}
	return all
}

// WithValue gives the name of the recipe with a value of its profile. The error says that the recipe
// does not exist, has no such profile, or that the profile has no such value.
func (s *Store) WithValue(name string, selection ProfileSelection) (string, error) {
	o, _, ok := s.variant(name)
	if !ok {
		return "", unknownRecipe(name, s.Names())
	}
	if _, err := s.resolveAnywhere(o.Effective, Choices{Profile: selection}); err != nil {
		return "", fmt.Errorf("recipe %q: %w", name, err)
	}
	for _, v := range s.Variants(o.Name) {
		if v.Value == selection.Value {
			return v.Name, nil
		}
	}
	return o.Name, nil
}

// variant finds the overlay that a name means, and the value of its profile: nothing but the name of
// an overlay means the default.
func (s *Store) variant(name string) (*Overlay, ProfileSelection, bool) {
	if o, ok := s.overlays[name]; ok {
		return o, ProfileSelection{}, true
	}
	i := strings.LastIndex(name, VariantMark)
	if i < 0 {
		return nil, ProfileSelection{}, false
	}
	p, ok := s.Profile(name[:i])
	if !ok {
		return nil, ProfileSelection{}, false
	}
	for _, value := range p.Values {
		if strings.EqualFold(value, name[i+len(VariantMark):]) {
			return s.overlays[name[:i]], ProfileSelection{Name: p.Name, Value: value}, true
		}
	}
	return nil, ProfileSelection{}, false
}
