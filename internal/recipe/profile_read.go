package recipe

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// profileDecoder adds to the problems of the overlay.
type profileDecoder struct{ *document.Decoder }

// readProfile decodes and checks spec.profile, which may extend another one: then it has that one's values, too. It returns
// nil if the field is missing or invalid, and adds problems to the decoder's.
func readProfile(of *document.Decoder, root *yaml.Node, doc *profileDocument, extends *Profile) *Profile {
	d := profileDecoder{of}
	if doc == nil {
		return extends
	}
	at := func(steps ...any) document.Origin {
		return document.Origin{File: d.File, Line: document.LineOf(root, append([]any{"spec", "profile"}, steps...)...)}
	}
	before := len(d.Found)
	if !document.WithProfile(d.APIVersion) {
		d.Add(at(), "spec.profile is not a field of apiVersion %s; write %sv1beta2 (or %sv1alpha3, with AICR's releases to v0.20)", d.APIVersion, document.Group, document.Group)
	}
	p := &Profile{Origin: at(), values: map[string]*ProfileValue{}}
	if extends != nil {
		if p.values = maps.Clone(extends.values); doc.Name != "" && doc.Name != extends.Name {
			d.Add(at("name"), "profile %.100q cannot extend the profile %q at %s; give it that name", doc.Name, extends.Name, extends.Origin)
		}
		doc.Name, doc.Default, doc.Description = extends.Name, cmp.Or(doc.Default, extends.Default), cmp.Or(doc.Description, extends.Description)
	}
	p.Name, p.Description, p.Default = doc.Name, doc.Description, doc.Default
	for name := range doc.Values {
		p.values[name] = nil
	}
	p.Values = slices.Sorted(maps.Keys(p.values))
	if !identifier.MatchString(doc.Name) {
		d.Add(at("name"), "%.100q is not a name for a profile; use letters, digits, dots, hyphens and underscores", doc.Name)
	}
	if len(doc.Values) == 0 {
		d.Add(at("values"), "profile %q has no values; add one", doc.Name)
	} else if !slices.Contains(p.Values, doc.Default) {
		d.Add(at("default"), "default %.100q of profile %q is not one of its values; %s", doc.Default, doc.Name, cmp.Or(lists.Hint(doc.Default, p.Values), "they are "+strings.Join(p.Values, ", ")))
	}
	lower := map[string]string{}
	for _, name := range p.Values {
		if !identifier.MatchString(name) {
			d.Add(at("values", name), "%.100q is not a name for a value of a profile; use letters, digits, dots, hyphens and underscores", name)
		}
		if other, ok := lower[strings.ToLower(name)]; ok {
			d.Add(at("values", name), "the values %q and %q of profile %q differ only by case; rename one of them", other, name, doc.Name)
		}
		lower[strings.ToLower(name)] = name
		if p.values[name] == nil {
			p.values[name] = d.value(root, doc.Name, name)
		}
	}
	d.checkOwned(p)
	if len(d.Found) > before {
		return nil
	}
	return p
}

func (d profileDecoder) value(root *yaml.Node, name, value string) *ProfileValue {
	steps := []any{"spec", "profile", "values", value}
	at := func(more ...any) document.Origin {
		return document.Origin{File: d.File, Line: document.LineOf(root, slices.Concat(steps, more)...)}
	}
	made := &ProfileValue{origin: at()}
	var doc valueDocument
	if n := document.NodeAt(root, steps...); n != nil {
		d.Decode(n, &doc, "spec.profile.values."+value)
	}
	if made.Advertiser = doc.Advertiser; doc.Advertiser != "" && doc.Advertiser != externalAdvertiser {
		d.Add(at("advertiser"), "advertiser of value %q of profile %q is %.100q; write %s or remove it", value, name, doc.Advertiser, externalAdvertiser)
	}
	for _, l := range []struct {
		field string
		from  []document.Constraint
		to    *[]document.Constraint
	}{{"constraints", doc.Constraints, &made.Constraints}, {"readinessConstraints", doc.ReadinessConstraints, &made.Readiness}} {
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
		c := ProfileComponent{Name: ref.Name, origin: at("componentRefs", i)}
		if ref.Name == "" || seen[ref.Name] {
			d.Add(c.origin, "componentRefs[%d] of value %q of profile %q needs a name, which is there once; correct it", i, value, name)
		}
		seen[ref.Name] = true
		if n := document.NodeAt(root, slices.Concat(steps, []any{"componentRefs", i, "overrides"})...); n != nil && n.Kind == yaml.MappingNode {
			c.Overrides = document.TreeOf(n, at("componentRefs", i, "overrides"), &document.Problems{})
			d.checkOverrides(c.Overrides)
			if c.Overrides.Fields[document.EnabledKey] != nil {
				d.Add(c.Overrides.Fields[document.EnabledKey].Origin, "overrides.%s is not for a profile; leave the component out in an overlay", document.EnabledKey)
			}
		}
		made.Components = append(made.Components, c)
	}
	return made
}

// checkOverrides refuses what does not say by a value's path what is set.
func (d profileDecoder) checkOverrides(t *document.Tree) {
	t.Unclear(func(path string, at document.Origin, empty bool) {
		if empty {
			d.Add(at, "%q of a profile's overrides is an empty map; remove it", path)
			return
		}
		d.Add(at, "the key %q of a profile's overrides has a dot or is empty; set the value in an overlay", path)
	})
}

// checkOwned makes the paths that the profile owns. Each of its values must set all of them, so that
// no value leaves another one's behind.
func (d profileDecoder) checkOwned(p *Profile) {
	owned, sets := map[string]map[string]bool{}, map[string][]string{}
	for _, name := range p.Values {
		for _, c := range p.values[name].Components {
			if owned[c.Name] == nil {
				owned[c.Name] = map[string]bool{document.EnabledKey: true}
			}
			for path := range c.Overrides.Leaves() {
				owned[c.Name][path] = true
				sets[name] = append(sets[name], c.Name+":"+path)
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
	p.Owned = map[string][]string{}
	for component, paths := range owned {
		p.Owned[component] = slices.Sorted(maps.Keys(paths))
	}
}
