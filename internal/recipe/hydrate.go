package recipe

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// installKey does the same as document.EnabledKey, since AICR's apiVersion v1beta1. It keeps the component in the inventory.
const installKey = "install"

// Disabled reports whether the component is left out of the bundle (overrides.enabled: false).
func (r *ComponentRef) Disabled() bool { return r.Overrides[document.EnabledKey] == false }

// LeftOut reports whether nothing of the component is deployed: it is disabled, or only listed
// (overrides.install: false).
func (r *ComponentRef) LeftOut() bool { return r.Disabled() || r.Overrides[installKey] == false }

// draNodeLabeler labels the nodes that are to have the DRA driver, if the bundler is told which label.
const draNodeLabeler = "dra-node-labeler"

// WithNodeLabeler is a copy whose Components keep the component that gives nodes the label of
// --dra-eviction-node-label.
func (s *Store) WithNodeLabeler() *Store {
	c := *s
	c.labels = true
	return &c
}

// Components gives the result's components with everything that a bundle needs, in deployment
// order. The result must have been resolved from the same recipes directory, which is where values
// and manifests are read.
//
// A component with the override enabled: false is left out, and so are other components'
// dependencies on it: nothing will ever exist under its name, so a deployer that waited for it
// would wait for ever. That its dependents work without it is the recipe's statement.
func (s *Store) Components(r *Result) ([]Component, error) {
	m, err := s.mergedOf(r)
	if err != nil {
		return nil, err
	}
	refs := map[string]ComponentRef{}
	enabled := map[string]bool{}
	var p document.Problems
	notes := s.Notes()
	for _, ref := range r.ComponentRefs {
		refs[ref.Name] = ref
		on, err := m.enabled(ref)
		if err != nil {
			p.AddAll([]*FileError{err})
		}
		if on && ref.Name == draNodeLabeler && s.generation != document.March && !s.labels {
			on, notes = false, append(notes, ref.Name+" is in the recipe and not in the bundle, as with AICR's bundler without --dra-eviction-node-label, or without both components that the label is for")
		}
		enabled[ref.Name] = on
		if !slices.Contains(r.DeploymentOrder, ref.Name) {
			if !on && s.generation != document.March {
				continue
			}
			return nil, fmt.Errorf("component %q is not in the recipe's deploymentOrder; resolve the recipe again", ref.Name)
		}
	}
	components := []Component{}
	for _, name := range r.DeploymentOrder {
		ref, ok := refs[name]
		if !ok {
			return nil, fmt.Errorf("deploymentOrder names component %q, which is not in the recipe's componentRefs; resolve the recipe again", name)
		}
		if !enabled[name] {
			continue
		}
		c, found := s.hydrate(m, ref)
		p.AddAll(found)
		if len(found) > 0 {
			continue
		}
		if c.Type == TypeHelm && c.Chart == "" && len(c.Manifests)+len(c.PreManifests) == 0 {
			p.Add(c.Declared, "component %q has neither a chart nor manifestFiles, so nothing can be deployed; add one, here or in %s", name, s.registry[name].origin.File)
		}
		var deps []string
		for _, dep := range c.DependencyRefs {
			if enabled[dep] {
				deps = append(deps, dep)
			}
		}
		c.DependencyRefs = deps
		c.Undone, c.Validations = s.registry[name].undone(r.Criteria, s.generation), s.registry[name].Validations
		components = append(components, *c)
	}
	if err := p.Err(); err != nil {
		return nil, fmt.Errorf("reading the components of the recipe: %w", err)
	}
	if len(components) > 0 { // the result of every cell says it
		components[0].Undone = append(components[0].Undone, notes...)
	}
	return components, nil
}

// enabled reports whether the component is to be in the bundle.
func (m *merged) enabled(ref ComponentRef) (bool, *FileError) {
	key := document.EnabledKey
	v, ok := ref.Overrides[key]
	if on, isBool := v.(bool); m.installs && (!ok || isBool && on) {
		if other, set := ref.Overrides[installKey].(bool); set { // charts have values of that name: another type is theirs
			return other, nil
		}
	}
	if !ok {
		return true, nil
	}
	on, ok := v.(bool)
	if ok {
		return on, nil
	}
	at := Origin{File: "the resolved recipe"} // for a result that was written by hand
	if c := m.components[ref.Name]; c != nil {
		at = c.declared
		if o, ok := document.Nearest(c.overrides.Origins(), key); ok {
			at = o
		}
	}
	// Taking "false" in quotes for true would deploy what the recipe leaves out.
	return false, document.ErrorAt(at, "overrides.%s of component %q is %#v; use true or false, without quotes", key, ref.Name, v)
}

// hydrate reads what the component's reference stands for.
func (s *Store) hydrate(m *merged, ref ComponentRef) (*Component, []*FileError) {
	entry, ok := s.registry[ref.Name]
	if !ok {
		return nil, []*FileError{document.ErrorAt(Origin{File: s.registries()}, "component %q of the recipe is not in it; add it", ref.Name)}
	}
	known := m.components[ref.Name]
	if known == nil {
		// Only a result that was written by hand has a component that none of its overlays has.
		known = &mergedComponent{declared: entry.origin}
	}
	c := &Component{
		ComponentRef:      cloneRef(ref),
		DisplayName:       entry.DisplayName,
		ValueOverrideKeys: slices.Clone(entry.ValueOverrideKeys),
		NodeScheduling:    entry.scheduling(),
		Declared:          known.declared,
		Registered:        entry.origin,

		GKECriticalPriority: entry.GKECriticalPriority,
	}
	setIfEmpty(&c.DisplayName, c.Name)
	if s.generation != document.March && ref.Type == TypeHelm && ref.Source != "" {
		setIfEmpty(&c.Chart, c.Name)
	}
	values, found := s.componentValues(ref, known)
	c.Values, c.Origins = values.MapValue(), values.Origins()
	if ref.Type == TypeKustomize && !s.noKustomizations {
		var wrong []*FileError
		c.Kustomization, wrong = s.kustomization(ref, known, entry)
		return c, append(found, wrong...)
	}
	size := 0
	for i, file := range slices.Concat(ref.PreManifestFiles, ref.ManifestFiles) {
		content, err := s.files.Read(file)
		if err != nil {
			at, ok := known.manifests[file]
			if !ok {
				at = known.declared
			}
			found = append(found, document.ErrorAt(at, "manifest of component %q: %w", ref.Name, err))
			continue
		}
		made := &c.Manifests
		if i < len(ref.PreManifestFiles) {
			made = &c.PreManifests
		}
		*made = append(*made, Manifest{Path: file, File: s.files.Display(file), Content: content})
		if size += len(content); size > document.MaxTotalSize {
			return nil, append(found, document.ErrorAt(known.declared, "the manifests of component %q have more than %d MiB; remove some", ref.Name, document.MaxTotalSize>>20))
		}
	}
	return c, found
}

// componentValues merges the component's values (resolution rule 7).
func (s *Store) componentValues(ref ComponentRef, known *mergedComponent) (*document.Tree, []*FileError) {
	values := &document.Tree{Origin: known.declared, Fields: map[string]*document.Tree{}}
	add := document.MergeTrees
	if s.generation != document.March {
		add = document.HydrateTrees
	}
	for i, file := range s.valuesFiles(ref) {
		t, ok := s.values[file]
		if !ok { // a result that was written by hand
			data, err := s.files.Read(file)
			if err != nil {
				at := known.values
				if at.File == "" {
					at = known.declared
				}
				return values, []*FileError{document.ErrorAt(at, "values file of component %q: %w", ref.Name, err)}
			}
			var found []*FileError
			if t, found = parseValues(s.files.Display(file), data); len(found) > 0 {
				return values, found
			}
		}
		if i == 0 {
			values = document.MergeTrees(values, t) // a null of the first file has no key to delete, and stays
			continue
		}
		values = add(values, t)
	}
	if len(ref.Overrides) > 0 {
		values = add(values, document.TreeFrom(ref.Overrides, known.overrides, known.declared))
	}
	return values, nil
}

// valuesFiles are those of a component, in their order. Since July a component without a valuesFile
// has none.
func (s *Store) valuesFiles(ref ComponentRef) []string {
	if ref.ValuesFile == "" && s.generation != document.March {
		return nil
	}
	var files []string
	if common := componentsDir + "/" + ref.Name + "/values.yaml"; common != ref.ValuesFile {
		if _, ok := s.values[common]; ok { // it is there for components that need it
			files = append(files, common)
		}
	}
	if ref.ValuesFile != "" {
		files = append(files, ref.ValuesFile)
	}
	return files
}

// cloneRef is a copy that shares nothing with the original.
func cloneRef(ref ComponentRef) ComponentRef {
	if ref.Overrides != nil {
		ref.Overrides = document.CopyValue(ref.Overrides).(map[string]any)
	}
	ref.Patches = slices.Clone(ref.Patches)
	ref.DependencyRefs = slices.Clone(ref.DependencyRefs)
	ref.ManifestFiles = slices.Clone(ref.ManifestFiles)
	ref.PreManifestFiles = slices.Clone(ref.PreManifestFiles)
	ref.ExpectedResources = slices.Clone(ref.ExpectedResources)
	return ref
}
