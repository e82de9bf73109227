package recipe

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// order gives the components so that each comes after its dependencies and, where that leaves a
// choice, alphabetically (resolution rule 6; Kahn's algorithm). What is left out has no place in it,
// but its dependencies must make sense all the same: AICR checks them too.
func (m *merged) order() ([]string, error) {
	off, err := m.off()
	if err != nil {
		return nil, err
	}
	var unknown document.Problems
	for _, name := range m.names() {
		for _, dep := range m.components[name].ref.DependencyRefs {
			if _, ok := m.components[dep]; !ok {
				unknown.Add(m.components[name].depends, "component %q depends on %q, which is not in this recipe (%s -> %s); add it to an overlay of the recipe or remove the dependency", name, dep, name, dep)
			}
		}
	}
	if err := unknown.Err(); err != nil {
		return nil, err
	}
	depends := map[string][]string{}
	for _, name := range m.names() {
		depends[name] = m.components[name].ref.DependencyRefs
	}
	order, cycle := orderDependencies(depends, off)
	if cycle == nil && len(off) > 0 {
		_, cycle = orderDependencies(depends, nil)
	}
	if cycle != nil {
		return nil, document.ErrorAt(m.components[cycle[0]].depends, "the dependencies form a cycle: %s; remove one of them", strings.Join(append(cycle, cycle[0]), " -> "))
	}
	return order, nil
}

// off returns the components that the recipe leaves out. In AICR of March they had a place in the
// order.
func (m *merged) off() (map[string]bool, error) {
	off := map[string]bool{}
	if m.generation == document.March {
		return off, nil
	}
	for _, name := range m.names() {
		ref := m.components[name].ref
		ref.Overrides = m.components[name].overrides.MapValue()
		on, err := m.enabled(ref)
		if err != nil {
			return nil, err
		}
		if !on {
			off[name] = true
		}
	}
	return off, nil
}

// coherent rejects a component that AICR's deployers would not deploy, or would deploy differently. It
// does not check one that the recipe leaves out. AICR of March had no such rule.
func (s *Store) coherent(ref *ComponentRef, c *mergedComponent, m *merged) *FileError {
	if s.generation == document.March {
		return nil
	}
	if on, err := m.enabled(*ref); err != nil || !on {
		return err
	}
	field, problem := shapeComponent{
		Kustomize: ref.Type == TypeKustomize, Chart: ref.Chart, Source: ref.Source, Version: ref.Version, Tag: ref.Tag, Path: ref.Path,
		Patches: len(ref.Patches) > 0, Manifests: len(ref.ManifestFiles) > 0,
	}.Problem(s.registries())
	if problem == "" {
		return nil
	}
	at, ok := c.fields[field]
	if !ok {
		at = c.declared
	}
	return document.ErrorAt(at, "component %q %s", ref.Name, problem)
}
