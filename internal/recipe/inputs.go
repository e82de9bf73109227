package recipe

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// RegistryFile is the component registry's place in a recipes directory.
const RegistryFile = registryFile

// Input is a file of a recipes directory that has a part in a recipe.
type Input struct {
	Path string // relative to the recipes directory; every file below it if it ends with a slash
	Role string // for people: "values of gpu-operator"
	// Verifies: it decides what is verified, and not what is deployed.
	Verifies bool
}

// Inputs returns the files that decide about the recipe of that name, except for the registry (see
// ChangedComponents): the overlays that apply with their mixins, the values, manifests, patches and
// checks of its components, and the probes. Each file is listed once, with the first of its roles.
// Errors are those of ResolveName.
func (s *Store) Inputs(name string) ([]Input, error) {
	r, err := s.ResolveName(name)
	if err != nil {
		return nil, err
	}
	var inputs []Input
	seen := map[string]bool{}
	put := func(in Input) {
		if in.Path != "" && !seen[in.Path] {
			seen[in.Path] = true
			inputs = append(inputs, in)
		}
	}
	add := func(path, role string) { put(Input{Path: path, Role: role}) }
	check := func(path, role string) { put(Input{Path: path, Role: role, Verifies: true}) }
	for _, overlay := range r.Metadata.AppliedOverlays {
		o := s.overlays[overlay]
		add(s.files.Relative(o.Origin.File), "overlay "+overlay)
		for _, m := range o.Mixins {
			add(s.files.Relative(s.mixins[m].origin.File), fmt.Sprintf("mixin %s of overlay %s", m, overlay))
		}
	}
	check("probes/", "probe of its users' jobs")
	for _, ref := range r.ComponentRefs {
		// A common values file that does not exist now may be the one that was removed.
		add(componentsDir+"/"+ref.Name+"/values.yaml", "values of "+ref.Name)
		add(ref.ValuesFile, "values of "+ref.Name)
		for _, file := range slices.Concat(ref.PreManifestFiles, ref.ManifestFiles) {
			add(file, "manifest of "+ref.Name)
		}
		for _, file := range s.kustomizationInputs(ref) {
			add(file, "kustomization of "+ref.Name)
		}
		for _, file := range ref.Patches {
			add(file, "patch of "+ref.Name)
		}
		check(s.registry[ref.Name].HealthCheck.AssertFile, "health check of "+ref.Name)
		check(checksDir+"/"+ref.Name+"/", "check of "+ref.Name)
	}
	return inputs, nil
}

// ChangedComponents gives the names of the components whose registry entries are not the same in
// both, sorted; one that only one of them has counts. Comments, and where in the file an entry is,
// do not.
func ChangedComponents(a, b *Store) []string {
	names := map[string]bool{}
	for _, s := range []*Store{a, b} {
		for name := range s.registry {
			names[name] = !reflect.DeepEqual(a.registry[name].registryEntry, b.registry[name].registryEntry)
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return !names[name] })
}

// SameContent reports whether a YAML file of the recipes directories says the same in both:
// comments and layout do not count. A file that cannot be read as YAML, such as a template, is not
// the same.
func SameContent(a, b *Store, file string) bool {
	var content [2][]any
	for i, s := range []*Store{a, b} {
		raw, err := s.files.Read(file)
		if err != nil {
			return false
		}
		docs, err := yamlx.Documents(raw)
		if err != nil {
			return false
		}
		for _, d := range docs {
			var v any
			if d.Decode(&v) != nil {
				return false
			}
			content[i] = append(content[i], v)
		}
	}
	return reflect.DeepEqual(content[0], content[1])
}

// Differences are what a recipe resolves to in one recipes directory and not in another. Contents
// of files that it names are no part of that; they are Inputs.
type Differences struct {
	Any        bool     // there are some, in the components or elsewhere
	Components []string // sorted: what the recipe says of them, or what a cell takes from their registry entries, is not the same
}

// Compare gives the differences of the recipe of that name, which both must have. Of a registry
// entry count the defaults that the recipe takes from it, the value paths for scheduling and the
// health check, its priority and its validations; its title, for one, decides about nothing.
func Compare(a, b *Store, name string) (Differences, error) {
	var d Differences
	var results [2]*Result
	var parts [2]map[string]any
	for i, s := range []*Store{a, b} {
		r, err := s.ResolveName(name)
		if err != nil {
			return d, err
		}
		results[i], parts[i] = r, map[string]any{}
		for _, ref := range r.ComponentRefs {
			entry := s.registry[ref.Name]
			if parts[i][ref.Name], err = plain(struct {
				Ref         ComponentRef
				Scheduling  NodeScheduling
				HealthCheck any
				Critical    bool
				Validations []Validation
			}{ref, entry.NodeScheduling, entry.HealthCheck, entry.GKECriticalPriority, entry.Validations}); err != nil {
				return d, err
			}
		}
	}
	differ := map[string]bool{}
	for _, all := range parts {
		for name := range all {
			differ[name] = !reflect.DeepEqual(parts[0][name], parts[1][name])
		}
	}
	d.Components = slices.DeleteFunc(slices.Sorted(maps.Keys(differ)), func(name string) bool { return !differ[name] })
	var said [2]map[string]any // without the places of what is said
	for i, r := range results {
		var err error
		if said[i], err = plain(r); err != nil {
			return d, err
		}
	}
	d.Any = len(d.Components) > 0 || !reflect.DeepEqual(said[0], said[1])
	return d, nil
}
