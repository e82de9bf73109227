package recipe

import "github.com/nvidia/aicr-action/internal/recipe/document"

// coherent refuses a component that AICR's deployers would not deploy, or each in another way
// (AICR's issues 1584, 1588 and 1615). A component that the recipe leaves out may be anything. March
// had no such rule.
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
