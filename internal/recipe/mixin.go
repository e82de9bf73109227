package recipe

import (
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// addMixin puts a mixin on top of the overlays, as AICR does since July: its constraints must be new,
// and of a component that is there already it may set only what adds, and the values that the
// registry lists for mixins (AICR's ADR-005).
func (s *Store) addMixin(m *merged, mx *mixin) error {
	var p document.Problems
	for _, c := range mx.layer.constraints {
		if other, ok := m.constraints[c.Name]; ok {
			p.Add(c.Origin, "mixin %q sets the constraint %q, which is also set at %s; remove one of them", mx.name, c.Name, other.Origin)
		}
	}
	for i := range mx.layer.components {
		s.checkMixin(&p, m, mx, &mx.layer.components[i])
	}
	if err := p.Err(); err != nil {
		return err
	}
	m.add(&mx.layer)
	return nil
}

func (s *Store) checkMixin(p *document.Problems, m *merged, mx *mixin, d *declaration) {
	there := m.components[d.ref.Name]
	safe := s.registry[d.ref.Name].safeForMixins()
	switch {
	case there != nil:
		if field := identityField(&d.ref); field == "" && len(d.ref.DependencyRefs) > 0 && !m.installs {
			// AICR's issue 2610
			p.Add(d.at(d.dependencyRefs), "mixin %q sets dependencyRefs of component %q, which the overlays have, and AICR allows that only since its apiVersion v1beta1; set them in an overlay", mx.name, d.ref.Name)
		} else if field != "" {
			p.Add(d.origin, "mixin %q sets %s of component %q, which the overlays have; a mixin may only set its namespace, manifestFiles, preManifestFiles, dependencyRefs and the overrides that the registry lists in mixinSafeOverridePaths", mx.name, field, d.ref.Name)
		}
	case len(safe) == 0:
		return // a mixin may set every field of a component without mixinSafeOverridePaths
	case d.ref.ValuesFile != "":
		p.Add(d.at(d.valuesFile), "mixin %q sets valuesFile of component %q, whose registry entry has mixinSafeOverridePaths; set the values as overrides", mx.name, d.ref.Name)
	}
	d.overrides.Unclear(func(path string, at Origin, empty bool) {
		if empty {
			p.Add(at, "mixin %q sets overrides.%s of component %q to an empty map; remove it", mx.name, path, d.ref.Name)
			return
		}
		p.Add(at, "mixin %q has the key %q in the overrides of component %q, which has a dot or is empty; set the value in an overlay", mx.name, path, d.ref.Name)
	})
	set := d.overrides.Leaves()
	for _, path := range slices.Sorted(maps.Keys(set)) {
		at := set[path]
		if !slices.Contains(safe, path) {
			p.Add(at, "mixin %q sets overrides.%s of component %q, which is not in its mixinSafeOverridePaths (%s); remove it, or add it there", mx.name, path, d.ref.Name, s.registry[d.ref.Name].origin)
			continue
		}
		if there == nil {
			continue
		}
		if other, ok := s.alreadySet(there, path); ok {
			p.Add(at, "mixin %q sets overrides.%s of component %q, which is also set at %s; remove one of them", mx.name, path, d.ref.Name, other)
		}
	}
}

// alreadySet says where the recipe's own values have the path, or a part of it as something else
// than a map.
func (s *Store) alreadySet(c *mergedComponent, path string) (Origin, bool) {
	trees := []*document.Tree{c.overrides}
	for _, file := range s.valuesFiles(c.ref) {
		trees = append(trees, s.values[file])
	}
	for _, t := range trees {
		for set, at := range t.Leaves() {
			if set == path || strings.HasPrefix(set, path+".") || strings.HasPrefix(path, set+".") {
				return at, true
			}
		}
	}
	return Origin{}, false
}

// identityField names a field that is set and decides what a component is; empty if none is.
func identityField(ref *ComponentRef) string {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"chart", ref.Chart != ""}, {"type", ref.Type != ""}, {"source", ref.Source != ""}, {"version", ref.Version != ""},
		{"tag", ref.Tag != ""}, {"path", ref.Path != ""}, {"valuesFile", ref.ValuesFile != ""}, {"patches", len(ref.Patches) > 0},
		{"cleanup", ref.Cleanup}, {"expectedResources", len(ref.ExpectedResources) > 0},
		{"healthCheckAsserts", ref.HealthCheckAsserts != ""}, {"healthCheckSkip", ref.HealthCheckSkip},
	} {
		if f.set {
			return f.name
		}
	}
	return ""
}

func (r registered) safeForMixins() []string {
	if r.registryEntry == nil {
		return nil
	}
	return r.MixinSafeOverridePaths
}
