package app

import (
	"path"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// valuesFiles writes the files that a HelmRelease names in place of the values.yaml of its chart, which
// source-controller does as well: from the repository's root, each over those before.
func (f *fluxApp) valuesFiles(o object, chart *yamlv3.Node, to string) error {
	list := yamlx.Find(chart, "valuesFiles")
	if list == nil {
		return nil
	}
	mayMiss := yamlx.Text(chart, "ignoreMissingValuesFiles") == "true"
	yamlx.Drop(chart, "valuesFiles")
	yamlx.Drop(chart, "ignoreMissingValuesFiles")
	var merged object
	for _, item := range list.Content {
		name := path.Clean(strings.TrimPrefix(item.Value, "/"))
		if !f.repo.Has(name) {
			if mayMiss {
				f.override("HelmRelease %s: values file %s is left out: it does not exist, and ignoreMissingValuesFiles is set", o.Name(), item.Value)
				continue
			}
			return f.repo.BadAt(o, item, "values file %s of HelmRelease %s is no file of this repository%s; Flux looks for it from the repository's root", item.Value, o.Name(), f.repo.Only())
		}
		content, err := f.repo.Read(name)
		if err != nil {
			return err
		}
		docs, err := yamlx.Documents(content)
		if err != nil || len(docs) != 1 || len(docs[0].Content) != 1 || docs[0].Content[0].Kind != yamlv3.MappingNode {
			return f.repo.BadAt(o, item, "values file %s of HelmRelease %s is not one mapping of values", item.Value, o.Name())
		}
		if n := docs[0].Content[0]; merged.Node == nil {
			merged = checkout.New(name, n)
		} else {
			f.placeIn(merged, n, name)
			argoapi.OverlayValues(merged.Node, n)
		}
	}
	if merged.Node == nil {
		return nil
	}
	f.override("HelmRelease %s: its valuesFiles are the values.yaml of its chart, whose version Flux marks with +1", o.Name())
	return f.put(to+"/values.yaml", merged)
}
