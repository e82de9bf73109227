package bundle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/result"
)

// The names and numbers of Flux's bundles.
const (
	FluxNamespace = "flux-system"
	FluxSource    = "aicr-bundle" // the OCIRepository or GitRepository of the bundle itself

	fluxInterval = "10m"
	fluxTimeout  = "5m"
	// FluxTimeout is how long Flux waits for a release: what fluxTimeout says.
	FluxTimeout = 5 * time.Minute
)

// FluxKustomization is the name of the Kustomization that applies a recipe's bundle.
func FluxKustomization(recipeName string) string { return "aicr-" + recipeName }

// fluxOCI makes a HelmRelease per release and their sources, to be published together as one OCI
// artifact.
type fluxOCI struct{}

var _ Deployer = fluxOCI{}

func (fluxOCI) Name() string { return FluxOCI }

func (d fluxOCI) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, e *Expectation) error {
		if err := needOCI(in); err != nil {
			return err
		}
		return writeFlux(p, in, s, e)
	})
}

// fluxGit makes what fluxOCI makes, to be pushed to a Git repository: the source is a GitRepository,
// and the charts of manifest-only components are directories of it.
type fluxGit struct{}

var _ Deployer = fluxGit{}

func (fluxGit) Name() string { return FluxGit }

func (d fluxGit) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, e *Expectation) error {
		if err := needGit(in); err != nil {
			return err
		}
		return writeFlux(p, in, s, e)
	})
}

// writeFlux adds the files of a Flux bundle: the HelmReleases, their sources, and the two objects
// that are applied.
func writeFlux(p *plan, in Input, s *fileSet, e *Expectation) error {
	repositories, names := fluxRepositories(p, in.plainCharts)
	var resources []any
	if len(repositories) > 0 {
		resources = append(resources, "helmrepositories.yaml")
		if err := s.addYAML("helmrepositories.yaml", repositories...); err != nil {
			return err
		}
	}
	for _, r := range p.releases {
		if r.Local {
			s.addDir(r.Name+"/chart", r.files)
		}
		if r.Local && !in.inGit() {
			file := r.Name + "/artifactgenerator.yaml"
			if err := s.addYAML(file, artifactGenerator(r)); err != nil {
				return err
			}
			resources = append(resources, file)
		}
		file := r.Name + "/helmrelease.yaml"
		if err := s.addYAML(file, helmRelease(r, names[r.source], in.inGit())); err != nil {
			return err
		}
		resources = append(resources, file)
	}
	if err := s.addYAML("kustomization.yaml", map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources,
	}); err != nil {
		return err
	}
	roots := fluxRoot(in)
	e.Delivered = fluxDelivered(p, in)
	return s.addYAML("flux-root.yaml", roots[0], roots[1])
}

// fluxDelivered are the two objects that are applied, then the sources of local charts, then the
// HelmReleases. In Git the bundle itself is the source of a local chart.
func fluxDelivered(p *plan, in Input) []Delivered {
	ref := func(group, kind, name string) result.Ref {
		return result.Ref{Group: group + ".toolkit.fluxcd.io", Kind: kind, Namespace: FluxNamespace, Name: name}
	}
	source := ref("source", fluxSourceKind(in), FluxSource)
	list := []Delivered{{Ref: source}, {Ref: ref("kustomize", "Kustomization", FluxKustomization(RecipeName(in.Recipe))), Root: true, DependsOn: []result.Ref{source}}}
	generator := func(r *release) result.Ref {
		return result.Ref{Group: "source.extensions.fluxcd.io", Kind: "ArtifactGenerator", Namespace: FluxNamespace, Name: r.Name}
	}
	for _, r := range p.releases {
		if r.Local && !in.inGit() {
			list = append(list, Delivered{Ref: generator(r), DependsOn: []result.Ref{source}})
		}
	}
	for _, r := range p.releases {
		d := Delivered{Ref: ref("helm", "HelmRelease", r.Name)}
		switch {
		case r.Local && in.inGit():
			d.DependsOn = append(d.DependsOn, source)
		case r.Local:
			d.DependsOn = append(d.DependsOn, generator(r))
		}
		for _, name := range r.DependsOn {
			d.DependsOn = append(d.DependsOn, ref("helm", "HelmRelease", name))
		}
		list = append(list, d)
	}
	return list
}

// fluxSourceKind is the kind of the source that has the bundle.
func fluxSourceKind(in Input) string {
	if in.inGit() {
		return "GitRepository"
	}
	return "OCIRepository"
}

// FluxRoot is the source and the Kustomization of a Flux bundle, as in its flux-root.yaml: what is
// applied, in this order. The bundle does not apply them itself.
func FluxRoot(in Input) []*unstructured.Unstructured {
	if in.TargetRevision == "" {
		in.TargetRevision = Tag(FluxOCI, Revision(in))
	}
	var out []*unstructured.Unstructured
	for _, o := range fluxRoot(in) {
		out = append(out, &unstructured.Unstructured{Object: o})
	}
	return out
}

func fluxObject(apiVersion, kind, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": apiVersion,
		"kind":       kind,
		"metadata":   map[string]any{"name": name, "namespace": FluxNamespace},
		"spec":       spec,
	}
}

func fluxRoot(in Input) []map[string]any {
	repository := map[string]any{
		"interval": "1m",
		"url":      in.RepoURL,
		"ref":      map[string]any{"tag": in.TargetRevision},
		"layerSelector": map[string]any{
			"mediaType": LayerMediaType,
			"operation": "extract",
		},
	}
	if in.PlainHTTP {
		repository["insecure"] = true
	}
	if in.inGit() {
		repository = map[string]any{"interval": "1m", "url": in.RepoURL, "ref": map[string]any{"branch": in.TargetRevision}}
	}
	kind := fluxSourceKind(in)
	return []map[string]any{
		fluxObject("source.toolkit.fluxcd.io/v1", kind, FluxSource, repository),
		fluxObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", FluxKustomization(RecipeName(in.Recipe)), map[string]any{
			"interval":  "1m",
			"timeout":   fluxTimeout,
			"path":      "./",
			"prune":     true,
			"wait":      false,
			"sourceRef": map[string]any{"kind": kind, "name": FluxSource},
		}),
	}
}

// fluxRepositories gives a HelmRepository for every chart repository, and their names by URL.
func fluxRepositories(p *plan, plainHTTP func(source string) bool) (objects []any, names map[string]string) {
	names = map[string]string{}
	var taken []string
	for _, r := range p.releases {
		if r.Local || names[r.source] != "" {
			continue
		}
		base := fluxapi.RepositoryName(r.source)
		name := base
		for n := 2; slices.Contains(taken, name); n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken = append(taken, name)
		names[r.source] = name
		spec := map[string]any{"interval": fluxInterval, "url": r.source, "type": "default"}
		if r.oci() {
			spec["type"] = "oci"
			if plainHTTP(r.source) {
				spec["insecure"] = true
			}
		}
		objects = append(objects, fluxObject("source.toolkit.fluxcd.io/v1", "HelmRepository", name, spec))
	}
	return objects, names
}

// helmRelease installs and keeps one release. Helm's record of it is in the release's namespace,
// where `helm list` finds it. In Git a local chart is a directory of the bundle's own source.
func helmRelease(r *release, repository string, git bool) map[string]any {
	spec := map[string]any{
		"interval":         fluxInterval,
		"timeout":          fluxTimeout,
		"releaseName":      r.Name,
		"targetNamespace":  r.Namespace,
		"storageNamespace": r.Namespace,
		"install":          map[string]any{"createNamespace": true, "crds": "CreateReplace"},
		"upgrade":          map[string]any{"crds": "CreateReplace"},
	}
	switch {
	case r.Local && git:
		spec["chart"] = map[string]any{"spec": map[string]any{
			"chart":     "./" + r.Name + "/chart",
			"interval":  fluxInterval,
			"sourceRef": map[string]any{"kind": "GitRepository", "name": FluxSource},
		}}
	case r.Local:
		spec["chartRef"] = map[string]any{"kind": "ExternalArtifact", "name": r.Name}
	default:
		spec["chart"] = map[string]any{"spec": map[string]any{
			"chart":     r.Chart,
			"version":   r.ChartVersion,
			"interval":  fluxInterval,
			"sourceRef": map[string]any{"kind": "HelmRepository", "name": repository},
		}}
		if len(r.values) > 0 {
			spec["values"] = r.values
		}
	}
	if r.Carried != "" { // a null in a chart's own values does not reach the one in it
		spec["values"] = map[string]any{r.Carried: r.values}
	}
	var after []any
	for _, d := range r.DependsOn {
		after = append(after, map[string]any{"name": d})
	}
	if len(after) > 0 {
		spec["dependsOn"] = after
	}
	return fluxObject("helm.toolkit.fluxcd.io/v2", "HelmRelease", r.Name, spec)
}

// artifactGenerator copies a local chart out of the bundle. Helm requires the chart in a directory
// of its archive, not at the root, hence the name in "to".
func artifactGenerator(r *release) map[string]any {
	return fluxObject("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", r.Name, map[string]any{
		"sources": []any{map[string]any{"alias": "bundle", "kind": "OCIRepository", "name": FluxSource}},
		"artifacts": []any{map[string]any{
			"name": r.Name,
			"copy": []any{map[string]any{"from": "@bundle/" + r.Name + "/chart/**", "to": "@artifact/" + r.Name + "/"}},
		}},
	})
}
