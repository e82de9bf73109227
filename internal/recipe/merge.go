package recipe

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// merged is what layers add up to (resolution rule 4).
type merged struct {
	generation  document.Generation
	installs    bool // overrides.install: false leaves a component out
	constraints map[string]Constraint
	components  map[string]*mergedComponent
	validation  map[string]any
	lines       map[string]validationLines // of validation, by phase
}

// mergedComponent is a component with the places of what the layers said of it.
type mergedComponent struct {
	ref       ComponentRef // without overrides
	overrides *document.Tree
	declared  Origin            // the last declaration
	depends   Origin            // the list of dependencies that holds
	values    Origin            // the valuesFile that holds
	manifests map[string]Origin // by path
	patches   map[string]Origin // by path
	fields    map[string]Origin // source, path, tag and chart: the lines that hold
}

// merge applies the overlays in order. In March each was followed by its mixins: a mixin belongs to
// the overlay that names it, so it loses to what is more specific than that overlay. Since July the
// mixins come last, and may change little of what is there.
func (s *Store) merge(applied []string) (*merged, error) {
	m := &merged{
		generation:  s.generation,
		installs:    s.generation != document.March && !slices.Contains([]string{document.Group + "v1alpha2", document.Group + "v1alpha3"}, s.newest),
		constraints: map[string]Constraint{}, components: map[string]*mergedComponent{},
		validation: map[string]any{}, lines: map[string]validationLines{},
	}
	var last []string
	for _, name := range applied {
		o, ok := s.overlays[name]
		if !ok {
			return nil, fmt.Errorf("the recipe applies overlay %q, which %s does not have; resolve the recipe again with this recipes directory", name, s.files.Display("."))
		}
		m.add(&o.layer)
		if s.generation != document.March {
			last = union(last, o.Mixins)
			continue
		}
		for _, mixin := range o.Mixins {
			m.add(&s.mixins[mixin].layer)
		}
	}
	for _, name := range last {
		if err := s.addMixin(m, s.mixins[name]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *merged) add(l *layer) {
	for _, c := range l.constraints {
		m.constraints[c.Name] = c
	}
	for phase, content := range l.validation {
		m.addValidation(phase, content, l.lines[phase])
	}
	for i := range l.components {
		d := &l.components[i]
		c, ok := m.components[d.ref.Name]
		if !ok {
			c = &mergedComponent{manifests: map[string]Origin{}, patches: map[string]Origin{}, fields: map[string]Origin{}}
			m.components[d.ref.Name] = c
		}
		c.add(d, m.generation)
	}
}

// addValidation puts a phase on top. In March it replaced the one before; since July what it has is
// added: checks that are not there, constraints by name, and any other field that is set. A list that
// is written as empty removes the one before.
func (m *merged) addValidation(phase string, content any, lines validationLines) {
	before, _ := m.validation[phase].(map[string]any)
	over, ok := content.(map[string]any)
	if m.generation == document.March || !ok {
		m.validation[phase], m.lines[phase] = content, lines
		return
	}
	made := map[string]any{}
	maps.Copy(made, before)
	at := m.lines[phase]
	for key, value := range over {
		list, isList := value.([]any)
		under, _ := before[key].([]any)
		switch {
		case isList && len(list) == 0: // written down as empty: what was there goes
			delete(made, key)
			switch key {
			case "checks":
				at.checks = nil
			case "constraints":
				at.constraints = nil
			}
		case isList && key == "checks":
			made[key], at.checks = addChecks(under, at.checks, list, lines.checks)
		case isList && key == "constraints":
			made[key], at.constraints = addNamed(under, at.constraints, list, lines.constraints)
		default:
			made[key] = value
		}
	}
	at.block = lines.block
	m.validation[phase], m.lines[phase] = made, at
}

func addChecks(list []any, lines []Origin, over []any, overLines []Origin) ([]any, []Origin) {
	list, lines = slices.Clone(list), slices.Clone(lines)
	for i, check := range over {
		if !slices.Contains(list, check) {
			list, lines = append(list, check), append(lines, overLines[i])
		}
	}
	return list, lines
}

func addNamed(list []any, lines []Origin, over []any, overLines []Origin) ([]any, []Origin) {
	list, lines = slices.Clone(list), slices.Clone(lines)
	name := func(v any) any {
		m, _ := v.(map[string]any)
		return m["name"]
	}
	for i, c := range over {
		if at := slices.IndexFunc(list, func(old any) bool { return name(old) == name(c) }); at >= 0 {
			list[at], lines[at] = c, overLines[i]
			continue
		}
		list, lines = append(list, c), append(lines, overLines[i])
	}
	return list, lines
}

func (c *mergedComponent) add(d *declaration, generation document.Generation) {
	c.declared = d.origin
	c.overrides = document.MergeTrees(c.overrides, d.overrides)
	if len(d.ref.DependencyRefs) > 0 {
		c.depends = d.at(d.dependencyRefs)
	}
	if d.ref.ValuesFile != "" {
		c.values = d.at(d.valuesFile)
	}
	for i, file := range d.ref.ManifestFiles {
		c.manifests[file] = d.at(d.manifestLines[i])
	}
	for i, file := range d.ref.PreManifestFiles {
		c.manifests[file] = d.at(d.preManifestLines[i])
	}
	for i, file := range d.ref.Patches {
		c.patches[file] = d.at(d.patchLines[i])
	}
	for _, f := range d.fields {
		c.fields[f.name] = d.at(f.line)
	}
	mergeRef(&c.ref, d.ref, generation)
}

// mergeRef puts the fields of over that are not empty on top of ref. It leaves out the overrides,
// which are kept as a tree.
func mergeRef(ref *ComponentRef, over ComponentRef, generation document.Generation) {
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
	if generation == document.March {
		ref.DependencyRefs = replaced(ref.DependencyRefs, over.DependencyRefs)
	} else {
		ref.DependencyRefs = union(ref.DependencyRefs, over.DependencyRefs)
	}
	ref.ExpectedResources = replaced(ref.ExpectedResources, over.ExpectedResources)
	ref.ManifestFiles = union(ref.ManifestFiles, over.ManifestFiles)
	ref.PreManifestFiles = union(ref.PreManifestFiles, over.PreManifestFiles)
	ref.HealthCheckSkip = ref.HealthCheckSkip || over.HealthCheckSkip
}

// union appends what the list does not have yet.
func union(list, over []string) []string {
	if len(over) == 0 {
		return list
	}
	return lists.Unique(slices.Concat(list, over))
}

func replaced[T any](list, over []T) []T {
	if len(over) == 0 {
		return list
	}
	return slices.Clone(over)
}

// names gives the merged components' names, sorted.
func (m *merged) names() []string { return slices.Sorted(maps.Keys(m.components)) }
