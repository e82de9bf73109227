package recipe

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// RegistryFile is the component registry's place in a recipes directory.
const RegistryFile = registryFile

// Input is a file of a recipes directory that has a part in a recipe.
type Input struct {
	Path string // relative to the recipes directory; every file below it if it ends with a slash
	Role string // for people: "values of gpu-operator"
}

// Inputs gives what decides about the recipe of that name, but for the registry (see ChangedComponents): the overlays that apply
// with their mixins, and the values, manifests, patches and checks of its components. A file comes once, with the first part
// that it has. Errors are those of ResolveName.
func (s *Store) Inputs(name string) ([]Input, error) {
	r, err := s.ResolveName(name)
	if err != nil {
		return nil, err
	}
	var inputs []Input
	seen := map[string]bool{}
	add := func(path, role string) {
		if path != "" && !seen[path] {
			seen[path] = true
			inputs = append(inputs, Input{path, role})
		}
	}
	for _, overlay := range r.Metadata.AppliedOverlays {
		o := s.overlays[overlay]
		add(s.files.relative(o.Origin.File), "overlay "+overlay)
		for _, m := range o.Mixins {
			add(s.files.relative(s.mixins[m].origin.File), fmt.Sprintf("mixin %s of overlay %s", m, overlay))
		}
	}
	for _, ref := range r.ComponentRefs {
		// A common values file that does not exist now may be the one that was removed.
		add(componentsDir+"/"+ref.Name+"/values.yaml", "values of "+ref.Name)
		add(ref.ValuesFile, "values of "+ref.Name)
		for _, file := range ref.ManifestFiles {
			add(file, "manifest of "+ref.Name)
		}
		for _, file := range ref.Patches {
			add(file, "patch of "+ref.Name)
		}
		add(s.registry[ref.Name].HealthCheck.AssertFile, "health check of "+ref.Name)
		add(checksDir+"/"+ref.Name+"/", "check of "+ref.Name)
	}
	return inputs, nil
}

// ChangedComponents gives the names of the components whose registry entries are not the same in both, sorted; one that only
// one of them has counts. Comments, and where in the file an entry is, do not.
func ChangedComponents(a, b *Store) []string {
	names := map[string]bool{}
	for _, s := range []*Store{a, b} {
		for name := range s.registry {
			names[name] = !reflect.DeepEqual(a.registry[name].registryEntry, b.registry[name].registryEntry)
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return !names[name] })
}

// relative undoes display.
func (f files) relative(displayed string) string {
	return strings.TrimPrefix(displayed, strings.TrimSuffix(f.display("x"), "x"))
}
