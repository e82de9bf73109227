package recipe

// shape.go says which components AICR's deployers would not deploy, or would deploy differently
// (AICR's issues 1584, 1588 and 1615). It must not know recipes.

import (
	"fmt"
	"strings"
)

// shapeType is the type of a component in its usual spelling; empty for another word. Since July AICR does
// not mind capitals.
func shapeType(text string, anyCase bool) string {
	for _, known := range []string{"Helm", "Kustomize"} {
		if text == known || anyCase && strings.EqualFold(text, known) {
			return known
		}
	}
	return ""
}

// shapeComponent is what its shape depends on, with the registry's defaults.
type shapeComponent struct {
	Kustomize                         bool
	Chart, Source, Version, Tag, Path string
	Patches, Manifests                bool // has some
}

// Problem is what is wrong with a component, after "component NAME", and the field that it is about:
// empty for none. Registry is how messages call the file with the defaults.
func (c shapeComponent) Problem(registry string) (field, problem string) {
	if c.Patches {
		return "patches", "has patches, which no deployer of AICR applies; remove them"
	}
	if c.Kustomize {
		return c.kustomization()
	}
	for _, f := range []struct{ name, value string }{{"chart", c.Chart}, {"source", c.Source}, {"version", c.Version}} {
		if f.value != strings.TrimSpace(f.value) {
			return f.name, fmt.Sprintf("has space around its %s %q, which the deployers keep; remove it", f.name, f.value)
		}
	}
	switch {
	case c.Tag != "":
		return "tag", "is a Helm chart and has a tag, which is for Kustomize; use version, or set type: Kustomize"
	case c.Path != "":
		return "path", "is a Helm chart and has a path, which is for Kustomize; remove it, or set type: Kustomize"
	case c.Version == "v":
		return "version", "has the version v, which is none; write all of it"
	case c.Source == "" && c.Chart != "":
		return "chart", "has a chart and no source to take it from; set source, here or in " + registry + ", or remove the chart if there are only manifests"
	case c.Source == "" && !c.Manifests:
		return "", "has neither a chart nor manifestFiles, so nothing can be deployed; add one, here or in " + registry
	case c.Source != "" && c.Version == "":
		return "chart", "has a chart and no version, so that every deployment would take the newest; set version, here or in " + registry
	}
	return "", ""
}

func (c shapeComponent) kustomization() (field, problem string) {
	switch {
	case c.Path == "":
		return "type", "is a kustomization and has no path; add it"
	case c.Tag != "" && c.Source == "":
		return "tag", "has a tag and no source, of which it would be the tag; add the source, or remove the tag"
	case c.Manifests:
		return "type", "is a kustomization and has manifestFiles too, which AICR's deployers refuse; add them to the kustomization, or use preManifestFiles"
	}
	return "", ""
}
