package app

import (
	"errors"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// overlay is what a Kustomization of Flux lays over its directory, in the way of kustomize-controller.
func (f *fluxApp) overlay(o object) (overlay, error) {
	options, err := argoapi.FluxOverlay(yamlx.Find(o.Node, "spec"))
	if wrong := (*argoapi.OverlayError)(nil); errors.As(err, &wrong) {
		return overlay{}, f.repo.BadAt(o, wrong.Node, "spec of Kustomization %s: %w", o.Name(), err)
	}
	over := overlaidBy(o, options, render.EditFlux)
	over.at = f.repo.Origin(o, yamlx.LineOf(o.Node, "spec", "components"))
	over.place = func(field string) recipe.Origin { return f.repo.Origin(o, yamlx.LineOf(o.Node, "spec", field)) }
	return over, err
}

// commonMetadata gives objects the labels and annotations of a Kustomization.
func (f *fluxApp) commonMetadata(o object, inner []object) {
	for _, key := range []string{"labels", "annotations"} {
		set := yamlx.Find(o.Node, "spec", "commonMetadata", key)
		for i := 0; set != nil && i+1 < len(set.Content); i += 2 {
			for _, object := range inner {
				into := child(child(object.Node, "metadata"), key)
				yamlx.Set(into, set.Content[i].Value, "!!str", set.Content[i+1].Value)
			}
		}
	}
}

// builtFor is what Kustomize makes of the directory of an Application's source, with what that sets.
func (l *layout) builtFor(o object, source *yamlv3.Node, dir string) ([]object, error) {
	options, err := argoapi.ArgoOverlay(yamlx.Find(source, "kustomize"))
	if wrong := (*argoapi.OverlayError)(nil); errors.As(err, &wrong) {
		return nil, l.repo.BadAt(o, wrong.Node, "kustomize of Application %s: %w", o.Name(), err)
	}
	over := overlaidBy(o, options, render.EditArgo)
	over.at = l.repo.Origin(o, yamlx.LineOf(source, "kustomize", "components"))
	over.place = func(field string) recipe.Origin { return l.repo.Origin(o, yamlx.LineOf(source, "kustomize", field)) }
	return l.build(dir, over)
}

// overlaidBy is what an object has its deployer write into a kustomization.
func overlaidBy(o object, options argoapi.OverlayOptions, by string) overlay {
	over := overlay{settings: options.Settings, components: options.Components, by: by, owner: o}
	for _, p := range options.Patches {
		over.patches = append(over.patches, fluxPatch{Entry: p.Entry, File: o.File, Node: p.Node})
	}
	return over
}
