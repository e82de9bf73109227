package recipe

import (
	"fmt"
	"maps"
	"slices"
)

// merged is what layers add up to (resolution rule 4).
type merged struct {
	constraints map[string]Constraint
	components  map[string]*mergedComponent
	validation  map[string]any
	lines       map[string]validationLines // of validation, by phase
}

// mergedComponent is a component with the places of what the layers said of it.
type mergedComponent struct {
	ref       ComponentRef // without overrides
	overrides *tree
	declared  Origin            // the last declaration
	depends   Origin            // the list of dependencies that holds
	values    Origin            // the valuesFile that holds
	manifests map[string]Origin // by path
	patches   map[string]Origin // by path
	fields    map[string]Origin // source, path, tag and chart: the lines that hold
}

// merge applies the overlays in order, each followed by its mixins: a mixin belongs to the overlay
// that names it, so it loses to what is more specific than that overlay.
func (s *Store) merge(applied []string) (*merged, error) {
	m := &merged{constraints: map[string]Constraint{}, components: map[string]*mergedComponent{}, validation: map[string]any{}, lines: map[string]validationLines{}}
	for _, name := range applied {
		o, ok := s.overlays[name]
		if !ok {
			return nil, fmt.Errorf("the recipe applies overlay %q, which %s does not have; resolve the recipe again with this recipes directory", name, s.files.display("."))
		}
		m.add(&o.layer)
		for _, mixin := range o.Mixins {
			m.add(&s.mixins[mixin].layer)
		}
	}
	return m, nil
}

func (m *merged) add(l *layer) {
	for _, c := range l.constraints {
		m.constraints[c.Name] = c
	}
	for phase, content := range l.validation {
		m.validation[phase], m.lines[phase] = content, l.lines[phase]
	}
	for i := range l.components {
		d := &l.components[i]
		c, ok := m.components[d.ref.Name]
		if !ok {
			c = &mergedComponent{manifests: map[string]Origin{}, patches: map[string]Origin{}, fields: map[string]Origin{}}
			m.components[d.ref.Name] = c
		}
		c.add(d)
	}
}

func (c *mergedComponent) add(d *declaration) {
	c.declared = d.origin
	c.overrides = mergeTrees(c.overrides, d.overrides)
	if len(d.ref.DependencyRefs) > 0 {
		c.depends = d.at(d.dependencyRefs)
	}
	if d.ref.ValuesFile != "" {
		c.values = d.at(d.valuesFile)
	}
	for i, file := range d.ref.ManifestFiles {
		c.manifests[file] = d.at(d.manifestLines[i])
	}
	for i, file := range d.ref.Patches {
		c.patches[file] = d.at(d.patchLines[i])
	}
	for _, f := range d.fields {
		c.fields[f.name] = d.at(f.line)
	}
	mergeRef(&c.ref, d.ref)
}

// mergeRef puts the fields of over that are not empty on top of ref. It leaves out the overrides,
// which are kept as a tree.
func mergeRef(ref *ComponentRef, over ComponentRef) {
	for _, f := range []struct{ to, from *string }{
		{&ref.Name, &over.Name}, {&ref.Namespace, &over.Namespace}, {&ref.Chart, &over.Chart}, {&ref.Type, &over.Type},
		{&ref.Source, &over.Source}, {&ref.Version, &over.Version}, {&ref.Tag, &over.Tag}, {&ref.Path, &over.Path},
		{&ref.ValuesFile, &over.ValuesFile}, {&ref.HealthCheckAsserts, &over.HealthCheckAsserts},
	} {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
	ref.Cleanup = ref.Cleanup || over.Cleanup
	ref.Patches = replaced(ref.Patches, over.Patches)
	ref.DependencyRefs = replaced(ref.DependencyRefs, over.DependencyRefs)
	ref.ExpectedResources = replaced(ref.ExpectedResources, over.ExpectedResources)
	for _, file := range over.ManifestFiles {
		if !slices.Contains(ref.ManifestFiles, file) {
			ref.ManifestFiles = append(slices.Clone(ref.ManifestFiles), file)
		}
	}
}

func replaced[T any](list, over []T) []T {
	if len(over) == 0 {
		return list
	}
	return slices.Clone(over)
}

// names gives the merged components' names, sorted.
func (m *merged) names() []string { return slices.Sorted(maps.Keys(m.components)) }
