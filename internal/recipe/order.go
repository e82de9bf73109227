package recipe

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// order gives the components so that each comes after its dependencies and, where that leaves a
// choice, alphabetically (resolution rule 6; Kahn's algorithm).
func (m *merged) order() ([]string, error) {
	var unknown document.Problems
	waiting := map[string]int{}     // how many dependencies are not placed yet
	needed := map[string][]string{} // which components wait for one
	off, err := m.off()
	if err != nil {
		return nil, err
	}
	for _, name := range m.names() {
		c := m.components[name]
		if off[name] {
			for _, dep := range c.ref.DependencyRefs {
				if _, ok := m.components[dep]; !ok {
					unknown.Add(c.depends, "component %q depends on %q, which is not in this recipe (%s -> %s); add it to an overlay of the recipe or remove the dependency", name, dep, name, dep)
				}
			}
			continue
		}
		waiting[name] += 0
		for _, dep := range lists.Unique(c.ref.DependencyRefs) {
			if _, ok := m.components[dep]; !ok {
				unknown.Add(c.depends, "component %q depends on %q, which is not in this recipe (%s -> %s); add it to an overlay of the recipe or remove the dependency", name, dep, name, dep)
			}
			if off[dep] {
				continue // it is there without this recipe
			}
			waiting[name]++
			needed[dep] = append(needed[dep], name)
		}
	}
	if err := unknown.Err(); err != nil {
		return nil, err
	}
	var ready, order []string
	for _, name := range m.names() {
		if waiting[name] == 0 && !off[name] {
			ready = append(ready, name)
		}
	}
	for len(ready) > 0 {
		name := ready[0]
		ready = ready[1:]
		order = append(order, name)
		for _, next := range needed[name] {
			if waiting[next]--; waiting[next] == 0 {
				at, _ := slices.BinarySearch(ready, next)
				ready = slices.Insert(ready, at, next)
			}
		}
	}
	if len(order)+len(off) == len(m.components) {
		return order, nil
	}
	cycle := m.cycle(waiting)
	return nil, document.ErrorAt(m.components[cycle[0]].depends, "the dependencies form a cycle: %s; remove one of them", strings.Join(append(cycle, cycle[0]), " -> "))
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

// cycle finds a cycle among the components that could not be placed. Each of those has a dependency
// that could not be placed either, so following those has to come back to where it has been.
func (m *merged) cycle(waiting map[string]int) []string {
	var way []string
	for _, name := range m.names() {
		if waiting[name] > 0 {
			way = []string{name}
			break
		}
	}
	for {
		for _, dep := range m.components[way[len(way)-1]].ref.DependencyRefs {
			if waiting[dep] == 0 {
				continue
			}
			if i := slices.Index(way, dep); i >= 0 {
				return rotate(way[i:])
			}
			way = append(way, dep)
			break
		}
	}
}

// coherent rejects a component that AICR's deployers would not deploy, or would deploy differently
// (AICR's issues 1584, 1588 and 1615). It does not check a component that the recipe leaves out.
// AICR of March had no such rule.
func (s *Store) coherent(ref *ComponentRef, c *mergedComponent) *FileError {
	if s.generation == document.March {
		return nil
	}
	if on, err := (&merged{generation: s.generation, components: map[string]*mergedComponent{ref.Name: c}}).enabled(*ref); err != nil || !on {
		return err
	}
	at := func(field string) Origin {
		if o, ok := c.fields[field]; ok {
			return o
		}
		return c.declared
	}
	switch {
	case len(ref.Patches) > 0:
		return document.ErrorAt(c.declared, "component %q has patches, which no deployer of AICR applies; remove them", ref.Name)
	case ref.Type == TypeHelm && ref.Tag != "":
		return document.ErrorAt(at("tag"), "component %q is a Helm chart and has a tag, which is for Kustomize; use version, or set type: Kustomize", ref.Name)
	case ref.Type == TypeHelm && ref.Path != "":
		return document.ErrorAt(at("path"), "component %q is a Helm chart and has a path, which is for Kustomize; remove it, or set type: Kustomize", ref.Name)
	case ref.Type == TypeHelm && ref.Chart != "" && ref.Version == "":
		return document.ErrorAt(at("chart"), "component %q has a chart and no version, so that every deployment would take the newest; set version, here or in %s", ref.Name, s.registries())
	}
	return nil
}
