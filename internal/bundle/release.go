package bundle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// release is a Release with what the deployers and the expectation need to know of it.
type release struct {
	Release
	component *recipe.Component
	chart     *chart.Chart
	// values are for the chart as Helm reads them from valuesYAML; nil for a local chart, which has
	// its own values.yaml.
	values     map[string]any
	valuesYAML []byte
	source     string // repository URL; empty for a local chart
	files      []File // a local chart's, relative to it
	// sources are the manifests of a local chart, by the template that each is.
	sources map[string]*recipe.Manifest
	// apis are what its chart sees in .Capabilities.APIVersions.
	apis chartutil.VersionSet
	// argocd: Argo CD installs it, which runs other hooks.
	argocd bool
	// seen is the chart with the version that its templates see; nil if that is its own.
	seen *chart.Chart
}

// object is an object of its rendering, with the namespace that it is delivered to.
func (r *release) object(kinds rendering.CustomScopes, o rendering.Object) Object {
	kinds.FillNamespace(o.Unstructured, r.Namespace)
	return Object{Component: r.Component, Release: r.Name, Template: r.fileOf(o.Template), Manifest: r.sources[o.Template], Chart: r.chart, Hook: o.Hook, Ephemeral: o.Ephemeral, Object: o.Unstructured, definition: o.Definition}
}

func (r *release) oci() bool { return strings.HasPrefix(r.source, "oci://") }

// ref is what Helm's command line calls the chart, and the value of its --repo flag.
func (r *release) ref() (ref, repo string) {
	switch {
	case r.Local:
		return "", ""
	case r.oci():
		return strings.TrimSuffix(r.source, "/") + "/" + r.Chart, ""
	}
	return r.Chart, r.source
}

// contribution is what one component contributes to a plan, before it has a place among the others.
type contribution struct {
	overrides []string
	// Its releases, in order; nil if it has none: of preManifestFiles, the chart, and manifestFiles.
	pre, remote, local *release
}

// contribute needs to know nothing of the other components.
func contribute(ctx context.Context, in Input, c *recipe.Component) (*contribution, error) {
	if err := checkComponent(in, c); err != nil {
		return nil, err
	}
	values, overrides, err := inject(c, in.Scheduling, document.GenerationOf(in.Recipe.APIVersion))
	if err != nil {
		return nil, err
	}
	if !in.Given[c.Name].Complete {
		derived, err := postprocess(in.Recipe, c, values)
		if err != nil {
			return nil, &ComponentError{Component: c.Name, Origin: originOf(c, sourceRanges), Problem: err.Error()}
		}
		overrides = append(overrides, derived...)
	}
	out := &contribution{overrides: overrides}
	if !c.ManifestOnly() {
		if out.remote, err = remoteRelease(ctx, in, c, values); err != nil {
			return nil, err
		}
	}
	if pre := slices.Concat(c.PreManifests, criticalQuota(in.Recipe, c, namespace(c))); len(pre) > 0 {
		name := c.Name + preSuffix
		if c.Chart == "" && len(c.Manifests) == 0 {
			name = c.Name // there is nothing that it is before
		}
		if out.pre, err = localRelease(in, c, name, pre, values); err != nil {
			return nil, err
		}
	}
	if len(c.Manifests) > 0 {
		name := c.Name
		if !c.ManifestOnly() {
			name += postSuffix
		}
		if out.local, err = localRelease(in, c, name, c.Manifests, values); err != nil {
			return nil, err
		}
		if name != c.Name {
			out.local.DependsOn = []string{c.Name}
		}
	}
	return out, nil
}

// named reports whether Helm takes the name that the release has in it.
func (in Input) named(release string) bool {
	return chartutil.ValidateReleaseName(cmp.Or(in.Given[release].HelmName, release)) == nil
}

func checkComponent(in Input, c *recipe.Component) error {
	fail := func(problem string) error {
		return &ComponentError{Component: c.Name, Origin: c.Declared, Problem: problem}
	}
	switch {
	case !in.named(c.Name):
		return fail("its name cannot be a Helm release's: use at most 53 lower-case letters, digits, dashes and dots")
	case c.Type == recipe.TypeKustomize && c.Kustomization == nil:
		return fail("it is of type Kustomize, and the files of its kustomization were not read")
	case c.Chart == "" && len(c.Manifests)+len(c.PreManifests) == 0:
		return fail("it has neither a chart nor manifestFiles, so there is nothing to deploy")
	}
	return nil
}

func remoteRelease(ctx context.Context, in Input, c *recipe.Component, values map[string]any) (*release, error) {
	ref := catalog.RefOf(c)
	name := ref.Name
	ch, from, err := &chart.Chart{Metadata: &chart.Metadata{Version: c.Version}}, "", error(nil)
	switch {
	case in.Unrendered && c.Version == "":
		return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "the recipe pins no version of its chart " + name + ", and only a chart source knows the newest one: write the version into the recipe, or name a chart source"}
	case in.Unrendered:
	case in.Charts == nil:
		return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "chart " + name + " cannot be rendered: no chart source is given"}
	default:
		ch, from, err = in.Charts.Load(ctx, ref)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		err = fmt.Errorf("%s: %w", c.Name, err)
		if c.Declared.File != "" {
			err = &recipe.FileError{File: c.Declared.File, Line: c.Declared.Line, Err: err}
		}
		return nil, err
	}
	r := &release{component: c, chart: ch, source: c.Source}
	r.Release = Release{Component: c.Name, Name: c.Name, Namespace: namespace(c), Chart: name, ChartVersion: c.Version, ChartFrom: from, FromOCI: strings.HasPrefix(c.Source, ociScheme)}
	if in.ChartRepository != "" {
		r.source = strings.TrimSuffix(in.ChartRepository, "/")
	}
	if in.ChartRepository != "" || c.Version == "" {
		// The replacement repository is filled from the chart source, so a version there is spelled
		// as the chart spells it.
		r.ChartVersion = ch.Metadata.Version
	}
	if seen := in.Given[c.Name].Seen; seen != nil && !in.Unrendered {
		if r.SeenVersion, err = seen(ch); err != nil {
			return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "the version of its chart " + name + " for its templates: " + err.Error()}
		}
		r.seen = archive.Clone(ch)
		r.seen.Metadata.Version = r.SeenVersion
	}
	if r.source == "" {
		return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "its chart " + name + " has no source (a chart repository URL)"}
	}
	if r.valuesYAML, err = marshal(values); err == nil {
		r.values, err = readValues(r.valuesYAML)
	}
	if err != nil {
		return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "its values cannot be written as YAML: " + err.Error()}
	}
	return r, nil
}

// What the releases of a component's manifests are called besides the component.
const (
	preSuffix  = "-pre"
	postSuffix = "-post"
)

// localRelease is the release of some of a component's manifests: its only one, or one before or after
// its chart's.
func localRelease(in Input, c *recipe.Component, name string, manifests []recipe.Manifest, values map[string]any) (*release, error) {
	r := &release{component: c}
	r.Release = Release{Component: c.Name, Name: name, Namespace: namespace(c), Local: true}
	if !in.named(name) {
		return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "the release of its manifests, " + name + ", has a name of more than 53 characters"}
	}
	if r.chart = in.Given[name].Chart; r.chart == nil {
		var err error
		if r.files, r.chart, err = localChart(c, name, withoutHooks(in.Recipe, manifests), values); err != nil {
			return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "its manifests do not make a chart: " + err.Error()}
		}
	}
	r.Chart, r.ChartVersion = r.chart.Metadata.Name, r.chart.Metadata.Version
	names := localFileNames(manifests)
	if given := in.Given[name]; given.Chart != nil && given.Path != "" {
		names = namesBelow(given.Path, manifests)
	}
	r.sources = localFileSources(c, r.chart.Name(), manifests, names)
	return r, nil
}

func namespace(c *recipe.Component) string {
	if c.Namespace == "" {
		return "default"
	}
	return c.Namespace
}

// request is what a renderer needs to render the release.
func (r *release) request(values map[string]any, kubeVersion string, apis chartutil.VersionSet) render.Request {
	ch := r.chart
	if r.seen != nil {
		ch = r.seen
	}
	return render.Request{Chart: ch, Values: values, Name: r.InHelm(), Namespace: r.Namespace, KubeVersion: kubeVersion, APIVersions: apis, Post: r.Given.Post}
}
