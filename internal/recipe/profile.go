package recipe

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// externalAdvertiser is the only advertiser that a profile's value may name: something outside of the
// recipe advertises the GPUs.
const externalAdvertiser = "external"

// variantMark stands between the name of a recipe and that of a profile's value.
const variantMark = "--"

// SelectedProfile is the value that holds of a recipe's profile.
type SelectedProfile struct {
	Name       string `json:"name"`
	Value      string `json:"value"`
	Advertiser string `json:"advertiser,omitempty"`
	// OwnedPaths are the values, by component, that the profile decides, and "enabled" for the
	// component itself. Overrides must not contradict them.
	OwnedPaths map[string][]string `json:"ownedPaths"`
}

// Profile is a choice that a recipe leaves to its user (AICR's ADR-015).
type Profile struct {
	Name        string
	Description string
	Default     string
	Values      []string // sorted
	Origin      Origin
}

// Variant is a recipe with one value of its profile.
type Variant struct {
	// Name is what ResolveName takes: the recipe's own name for the default value.
	Name           string
	Profile, Value string // empty if the recipe has no profile
}

type profileDocument struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Default     string         `json:"default"`
	Values      map[string]any `json:"values"`
}

type profileValueDocument struct {
	Constraints          []Constraint `json:"constraints"`
	ReadinessConstraints []Constraint `json:"readinessConstraints"`
	ComponentRefs        []struct {
		Name      string         `json:"name"`
		Overrides map[string]any `json:"overrides"`
	} `json:"componentRefs"`
	Advertiser string `json:"advertiser"`
}

// profile is an overlay's profile, decoded and checked.
type profile struct {
	Profile
	overlay string
	values  map[string]*profileValue
	owned   map[string][]string
}

type profileValue struct {
	constraints, readiness []Constraint
	components             []profileComponent
	advertiser             string
	origin                 Origin
}

type profileComponent struct {
	name      string
	overrides *document.Tree
	origin    Origin
}

var profileIdentifier = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// profile decodes and checks spec.profile. It returns nil if the field is missing or invalid.
func (d *decoder) profile(root *yaml.Node, doc *profileDocument) *profile {
	if doc == nil {
		return nil
	}
	at := func(steps ...any) Origin {
		return Origin{File: d.File, Line: document.LineOf(root, append([]any{"spec", "profile"}, steps...)...)}
	}
	before := len(d.Found)
	if !document.WithProfile(d.APIVersion) {
		d.Add(at(), "spec.profile is not a field of apiVersion %s; write %sv1beta2 (or %sv1alpha3, with AICR's releases to v0.20)", d.APIVersion, document.Group, document.Group)
	}
	p := &profile{Profile: Profile{Name: doc.Name, Description: doc.Description, Default: doc.Default, Origin: at()}, values: map[string]*profileValue{}}
	p.Values = slices.Sorted(maps.Keys(doc.Values))
	if !profileIdentifier.MatchString(doc.Name) {
		d.Add(at("name"), "%.100q is not a name for a profile; use letters, digits, dots, hyphens and underscores", doc.Name)
	}
	if len(doc.Values) == 0 {
		d.Add(at("values"), "profile %q has no values; add one", doc.Name)
	} else if _, ok := doc.Values[doc.Default]; !ok {
		d.Add(at("default"), "default %.100q of profile %q is not one of its values; %s", doc.Default, doc.Name, cmp.Or(lists.Hint(doc.Default, p.Values), "they are "+strings.Join(p.Values, ", ")))
	}
	lower := map[string]string{}
	for _, name := range p.Values {
		if !profileIdentifier.MatchString(name) {
			d.Add(at("values", name), "%.100q is not a name for a value of a profile; use letters, digits, dots, hyphens and underscores", name)
		}
		if other, ok := lower[strings.ToLower(name)]; ok {
			d.Add(at("values", name), "the values %q and %q of profile %q differ only by case; rename one of them", other, name, doc.Name)
		}
		lower[strings.ToLower(name)] = name
		p.values[name] = d.profileValue(root, doc.Name, name)
	}
	d.checkOwned(p)
	if len(d.Found) > before {
		return nil
	}
	return p
}

func (d *decoder) profileValue(root *yaml.Node, name, value string) *profileValue {
	steps := []any{"spec", "profile", "values", value}
	at := func(more ...any) Origin {
		return Origin{File: d.File, Line: document.LineOf(root, slices.Concat(steps, more)...)}
	}
	made := &profileValue{origin: at()}
	var doc profileValueDocument
	if n := document.NodeAt(root, steps...); n != nil {
		d.Decode(n, &doc, "spec.profile.values."+value)
	}
	if made.advertiser = doc.Advertiser; doc.Advertiser != "" && doc.Advertiser != externalAdvertiser {
		d.Add(at("advertiser"), "advertiser of value %q of profile %q is %.100q; write %s or remove it", value, name, doc.Advertiser, externalAdvertiser)
	}
	for _, l := range []struct {
		field string
		from  []Constraint
		to    *[]Constraint
	}{{"constraints", doc.Constraints, &made.constraints}, {"readinessConstraints", doc.ReadinessConstraints, &made.readiness}} {
		seen := map[string]bool{}
		for i, c := range l.from {
			c.Origin = at(l.field, i)
			if c.Name == "" || c.Value == "" || seen[c.Name] {
				d.Add(c.Origin, "%s[%d] of value %q of profile %q needs a name, which is there once, and a value; correct it", l.field, i, value, name)
			}
			seen[c.Name] = true
			*l.to = append(*l.to, c)
		}
	}
	seen := map[string]bool{}
	for i, ref := range doc.ComponentRefs {
		c := profileComponent{name: ref.Name, origin: at("componentRefs", i)}
		if ref.Name == "" || seen[ref.Name] {
			d.Add(c.origin, "componentRefs[%d] of value %q of profile %q needs a name, which is there once; correct it", i, value, name)
		}
		seen[ref.Name] = true
		if n := document.NodeAt(root, slices.Concat(steps, []any{"componentRefs", i, "overrides"})...); n != nil && n.Kind == yaml.MappingNode {
			c.overrides = document.TreeOf(n, at("componentRefs", i, "overrides"), &document.Problems{})
			d.checkProfileOverrides(c.overrides, "")
			if c.overrides.Fields[enabledKey] != nil {
				d.Add(c.overrides.Fields[enabledKey].Origin, "overrides.%s is not for a profile; leave the component out in an overlay", enabledKey)
			}
		}
		made.components = append(made.components, c)
	}
	return made
}

// checkProfileOverrides refuses keys with dots and empty maps, by which a value's path would not say
// what is set.
func (d *decoder) checkProfileOverrides(t *document.Tree, path string) {
	for _, key := range slices.Sorted(maps.Keys(t.Fields)) {
		child, way := t.Fields[key], document.Join(path, key)
		switch {
		case key == "" || strings.Contains(key, "."):
			d.Add(child.Origin, "the key %q of a profile's overrides has a dot or is empty; set the value in an overlay", way)
		case child.Fields != nil && len(child.Fields) == 0:
			d.Add(child.Origin, "%q of a profile's overrides is an empty map; remove it", way)
		default:
			d.checkProfileOverrides(child, way)
		}
	}
}

// checkOwned makes the paths that the profile owns. Each of its values must set all of them, so that
// no value leaves another one's behind.
func (d *decoder) checkOwned(p *profile) {
	owned, sets := map[string]map[string]bool{}, map[string][]string{}
	for _, name := range p.Values {
		for _, c := range p.values[name].components {
			if owned[c.name] == nil {
				owned[c.name] = map[string]bool{enabledKey: true}
			}
			for path := range c.overrides.Leaves() {
				owned[c.name][path] = true
				sets[name] = append(sets[name], c.name+":"+path)
			}
		}
		slices.Sort(sets[name])
	}
	for _, name := range p.Values {
		first := p.Values[0]
		if missing := lists.Without(sets[first], sets[name]); len(missing) > 0 {
			d.Add(p.values[name].origin, "value %q of profile %q does not set %s, which value %q sets; all values must set the same paths", name, p.Name, strings.Join(missing, ", "), first)
		}
		if more := lists.Without(sets[name], sets[first]); len(more) > 0 {
			d.Add(p.values[name].origin, "value %q of profile %q sets %s, which value %q does not set; all values must set the same paths", name, p.Name, strings.Join(more, ", "), first)
		}
	}
	p.owned = map[string][]string{}
	for component, paths := range owned {
		p.owned[component] = slices.Sorted(maps.Keys(paths))
	}
}

// Selection is a value of a profile, as --profile NAME=VALUE chooses it. The zero value selects the
// default value of a recipe's profile.
type Selection struct{ Name, Value string }

// ParseSelection reads NAME=VALUE; an empty text is the zero Selection.
func ParseSelection(text string) (Selection, error) {
	if text == "" {
		return Selection{}, nil
	}
	name, value, ok := strings.Cut(text, "=")
	if !ok || !profileIdentifier.MatchString(name) || !profileIdentifier.MatchString(value) {
		return Selection{}, fmt.Errorf("%.100q is not a profile's value; write NAME=VALUE", text)
	}
	return Selection{name, value}, nil
}

// profileOf gives the one profile of the overlays; nil if they have none.
func (s *Store) profileOf(applied []string) (*profile, error) {
	var found *profile
	for _, name := range applied {
		o := s.overlays[name]
		if o == nil || o.profile == nil {
			continue
		}
		if found != nil {
			return nil, document.ErrorAt(o.profile.Origin, "overlay %q has the profile %q, and so has overlay %q at %s; a recipe has at most one", name, o.profile.Name, found.overlay, found.Origin)
		}
		found = o.profile
		found.overlay = name
	}
	return found, nil
}

// applyProfile puts the selected value of the recipe's profile on top of everything else.
func (s *Store) applyProfile(m *merged, applied []string, selection Selection) (*SelectedProfile, error) {
	p, err := s.profileOf(applied)
	if err != nil {
		return nil, err
	}
	switch {
	case p == nil && selection == Selection{}:
		return nil, nil
	case p == nil:
		return nil, fmt.Errorf("profile %s=%s was asked for, and the recipe has no profile; leave --profile away", selection.Name, selection.Value)
	case selection == Selection{}:
		selection = Selection{p.Name, p.Default}
	case selection.Name != p.Name:
		return nil, fmt.Errorf("profile %q was asked for, and that of the recipe is %q (%s); correct --profile", selection.Name, p.Name, p.Origin)
	}
	value, ok := p.values[selection.Value]
	if !ok {
		return nil, fmt.Errorf("profile %q has no value %q (%s); %s", p.Name, selection.Value, p.Origin, cmp.Or(lists.Hint(selection.Value, p.Values), "they are "+strings.Join(p.Values, ", ")))
	}
	var wrong document.Problems
	for _, component := range slices.Sorted(maps.Keys(p.owned)) {
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
	for _, c := range value.constraints {
		if other, ok := m.constraints[c.Name]; ok {
			wrong.Add(c.Origin, "value %q of profile %q sets the constraint %q, which is also set at %s; remove one of them", selection.Value, p.Name, c.Name, other.Origin)
		}
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	for _, c := range value.constraints {
		m.constraints[c.Name] = c
	}
	if err := m.addReadiness(p, selection.Value, value.readiness); err != nil {
		return nil, err
	}
	for _, c := range value.components {
		there := m.components[c.name]
		there.overrides = document.MergeTrees(there.overrides, c.overrides)
	}
	return &SelectedProfile{Name: p.Name, Value: selection.Value, Advertiser: value.advertiser, OwnedPaths: maps.Clone(p.owned)}, nil
}

// addReadiness appends the constraints of a running cluster to the readiness phase.
func (m *merged) addReadiness(p *profile, value string, constraints []Constraint) error {
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
	return p.Profile, true
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
			all = append(all, Variant{name + variantMark + strings.ToLower(value), p.Name, value})
		}
	}
	return all
}

// WithValue gives the name of the recipe with a value of its profile. The error says that the recipe
// does not exist, has no such profile, or that the profile has no such value.
func (s *Store) WithValue(name string, selection Selection) (string, error) {
	o, _, ok := s.variant(name)
	if !ok {
		return "", &UnknownRecipeError{Name: name, Known: s.Names(), Suggestion: document.Similar(name, s.Names())}
	}
	if _, err := s.ResolveProfile(o.Effective, selection); err != nil {
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
func (s *Store) variant(name string) (*Overlay, Selection, bool) {
	if o, ok := s.overlays[name]; ok {
		return o, Selection{}, true
	}
	i := strings.LastIndex(name, variantMark)
	if i < 0 {
		return nil, Selection{}, false
	}
	p, ok := s.Profile(name[:i])
	if !ok {
		return nil, Selection{}, false
	}
	for _, value := range p.Values {
		if strings.EqualFold(value, name[i+len(variantMark):]) {
			return s.overlays[name[:i]], Selection{p.Name, value}, true
		}
	}
	return nil, Selection{}, false
}
