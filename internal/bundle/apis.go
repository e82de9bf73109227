package bundle

import (
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle/apis"
)

// API is one entry of .Capabilities.APIVersions.
type API = apis.API

// APIs are the entries that charts see besides what the releases of the bundle add.
type APIs = apis.APIs

// StackAPIs are the APIs of the stack's clusters.
var StackAPIs = apis.Stack

// APIsOf are those of clusters with this version of Kubernetes.
func APIsOf(kubernetes string) APIs { return apis.Of(kubernetes) }

// ownAPIs are the entries that a deployer's controllers add.
func ownAPIs(a APIs, deployer string) []API {
	switch rowOf(deployer).by {
	case byArgoCD:
		return a.ArgoCD
	case byFlux:
		return a.Flux
	}
	return nil
}

// seenAPIs are what a chart sees through a deployer; added are the entries that the releases before
// it, and its own crds/, have added. Helm and helm-controller ask the API server's discovery. Argo
// CD gives Helm the kinds that its cluster cache could watch.
func seenAPIs(a APIs, deployer string, added []API) chartutil.VersionSet {
	var set chartutil.VersionSet
	if len(a.Server) == 0 {
		set = slices.Clone(chartutil.DefaultVersionSet)
	}
	argo := rowOf(deployer).by == byArgoCD
	for _, api := range slices.Concat(a.Server, ownAPIs(a, deployer), added) {
		if api.Watched || !argo {
			set = append(set, api.Name)
		}
	}
	return set
}

// dependsOn reports whether a deployer runs other hooks than Helm, or a template tests for an API that
// charts see with this deployer and not with Helm, or the other way round.
func (p *plan) dependsOn(all APIs, deployer string) bool {
	here, there := seenAPIs(all, deployer, p.added), seenAPIs(all, "", p.added)
	return p.argoDiffers && ByArgoCD(deployer) || !slices.Equal(here, there) && slices.ContainsFunc(p.releases, func(r *release) bool {
		return apis.Tell(append(templateSources(r.chart), string(r.valuesYAML)), here, there)
	})
}

// templateSources are the texts of a chart and its dependencies that may be executed as templates:
// values may be, too.
func templateSources(ch *chart.Chart) []string {
	var texts []string
	for _, f := range ch.Templates {
		texts = append(texts, string(f.Data))
	}
	for _, f := range ch.Raw {
		if f.Name == chartutil.ValuesfileName {
			texts = append(texts, string(f.Data))
		}
	}
	for _, d := range ch.Dependencies() {
		texts = append(texts, templateSources(d)...)
	}
	return texts
}

// Served are the APIs of the cluster's own API server, and those that the objects of the bundle add.
func (e *Expectation) Served() []API {
	all := slices.Clone(apis.Stack().Server)
	for i := range e.Objects {
		all = append(all, apis.ServedBy(e.Objects[i].Object)...)
	}
	return all
}
