package bundle

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle/july"
	"github.com/nvidia/aicr-action/internal/bundle/kustomize"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/inorder"
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
	// apis are what its chart sees in .Capabilities.APIVersions.
	apis chartutil.VersionSet
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

// plan is what all deployers' bundles of one recipe have in common. Nothing changes it once it is
// made.
type plan struct {
	releases    []*release
	charts      []*chart.Chart
	expectation Expectation
	// replaced are the recipe's own chart repositories, if another takes their place.
	replaced []string
	// elsewhere: the charts come from a repository that is not the recipe's.
	elsewhere bool
	// added is what the releases add to the API, in order.
	added []API
	// others are the plans for deployers through which the charts see other APIs and ask for them.
	others *otherPlans
}

// otherPlans are made when they are first asked for.
type otherPlans struct {
	mu    sync.Mutex
	plans map[string]*plan
}

// Prepare renders the recipe's charts once and gives an Input with which every deployer's Bundle
// reuses that work, also at the same time. Between the calls only RepoURL, TargetRevision,
// PlainHTTP, Project and ChartRepository may change, the last to another repository only: an Input
// that was prepared without one must stay without.
func Prepare(ctx context.Context, in Input) (Input, error) {
	in.prepared = nil
	var err error
	if in.Components, err = kustomize.Build(ctx, in.Components); err != nil {
		return in, err
	}
	p, err := makePlan(ctx, in, "")
	if err != nil {
		return in, err
	}
	in.prepared = p
	return in, nil
}

func planOf(ctx context.Context, in Input, deployer string) (*plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if in.prepared == nil {
		var err error
		if in, err = Prepare(ctx, in); err != nil {
			return nil, err
		}
	}
	p := in.prepared
	if !in.Unrendered && p.dependsOn(in.APIs, deployer) {
		var err error
		if p, err = p.others.get(ctx, in, deployer); err != nil {
			return nil, err
		}
	}
	if p.elsewhere != (in.ChartRepository != "") {
		return nil, errors.New("bundle: this input was prepared with a chart repository and has none now, or the other way round")
	}
	return p.at(in.ChartRepository), nil
}

// get makes the plan for a deployer, once.
func (o *otherPlans) get(ctx context.Context, in Input, deployer string) (*plan, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.plans[deployer]; p != nil {
		return p, nil
	}
	p, err := makePlan(ctx, in, deployer)
	if err == nil {
		o.plans[deployer] = p
	}
	return p, err
}

// at gives the plan with every chart in that repository, and says so among the overrides. What was
// rendered is shared with the plan.
func (p *plan) at(chartRepository string) *plan {
	if !p.elsewhere {
		return p
	}
	moved := *p
	moved.releases = make([]*release, len(p.releases))
	for i, r := range p.releases {
		own := *r
		if !r.Local {
			own.source = strings.TrimSuffix(chartRepository, "/")
		}
		moved.releases[i] = &own
	}
	if len(p.replaced) > 0 {
		moved.expectation.Overrides = append(slices.Clone(p.expectation.Overrides),
			fmt.Sprintf("charts: repository %s in place of %s", chartRepository, strings.Join(p.replaced, ", ")))
	}
	return &moved
}

// makePlan makes the plan for a deployer, or, without one, for whoever sees the APIs that Helm
// sees.
func makePlan(ctx context.Context, in Input, deployer string) (*plan, error) {
	if in.Recipe == nil {
		return nil, errors.New("bundle: no recipe")
	}
	p := &plan{elsewhere: in.ChartRepository != "", others: &otherPlans{plans: map[string]*plan{}}}
	p.expectation.Overrides = slices.Clone(in.PutIn)
	var components []*recipe.Component
	for i := range in.Components {
		if c := &in.Components[i]; !disabled(c) {
			components = append(components, c)
		}
	}
	err := inorder.Do(ctx, len(components), func(ctx context.Context, _, i int) (*contribution, error) {
		return contribute(ctx, in, components[i])
	}, func(i int, c *contribution) error { return p.add(in, components[i], c) })
	if err != nil {
		return nil, err
	}
	p.replaced = sortedUnique(p.replaced)
	for _, r := range p.releases {
		r.HelmName, r.Path = in.Given[r.Name].HelmName, in.Given[r.Name].Path
	}
	if err := p.link(in.Components); err != nil {
		return nil, err
	}
	if len(p.releases) == 0 {
		return nil, fmt.Errorf("recipe %s has no component: %w", RecipeName(in.Recipe), ErrEmpty)
	}
	if in.Unrendered {
		p.charts = nil
		for _, r := range p.releases {
			p.expectation.Releases = append(p.expectation.Releases, r.Release)
		}
		return p, nil
	}
	if err := p.expect(ctx, in, deployer); err != nil {
		return nil, err
	}
	return p, nil
}

// contribution is what one component contributes to a plan, before it has a place among the others.
type contribution struct {
	overrides []string
	// Its releases, in order; nil if it has none: of preManifestFiles, the chart, and manifestFiles.
	pre, remote, local *release
}

// contribute needs to know nothing of the other components.
func contribute(ctx context.Context, in Input, c *recipe.Component) (*contribution, error) {
	if err := checkComponent(c); err != nil {
		return nil, err
	}
	values, overrides, err := inject(c, in.Scheduling, document.GenerationOf(in.Recipe.APIVersion))
	if err != nil {
		return nil, err
	}
	out := &contribution{overrides: overrides}
	if !c.ManifestOnly() {
		if out.remote, err = remoteRelease(ctx, in, c, values); err != nil {
			return nil, err
		}
	}
	if pre := slices.Concat(c.PreManifests, july.CriticalQuota(in.Recipe, c, namespace(c))); len(pre) > 0 {
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

// add puts a component behind those that come before it.
func (p *plan) add(in Input, c *recipe.Component, made *contribution) error {
	p.expectation.Overrides = slices.Concat(p.expectation.Overrides, made.overrides, kustomize.Overrides(c))
	p.expectation.Warnings = slices.Concat(p.expectation.Warnings, c.Undone, kustomize.Warnings(c))
	if c.Namespace == "" {
		p.warnf("%s has no namespace in the recipe: it goes to the namespace default", c.Name)
	}
	if made.pre != nil {
		p.releases = append(p.releases, made.pre)
	}
	if r := made.remote; r != nil {
		if c.Version == "" {
			p.warnf("%s has no chart version in the recipe: %s, the newest in chart source %s, is used", c.Name, r.ChartVersion, in.Charts.Name())
		}
		if in.ChartRepository != "" && c.Source != "" {
			p.replaced = append(p.replaced, c.Source)
		}
		if other := p.otherBytes(r); other != nil && in.ChartRepository != "" {
			return &ComponentError{Component: c.Name, Origin: c.Declared, Problem: fmt.Sprintf("its chart %s %s (%s) is not the one of that name and version that component %s has (%s), and the cell's registry can have one only: give one of them another version",
				r.Chart, r.ChartVersion, r.ChartFrom, other.Component, other.ChartFrom)}
		}
		p.releases = append(p.releases, r)
		p.addChart(r.chart)
	}
	if made.local != nil {
		p.releases = append(p.releases, made.local)
	}
	return nil
}

func (p *plan) warnf(format string, args ...any) {
	p.expectation.Warnings = append(p.expectation.Warnings, fmt.Sprintf(format, args...))
}

// otherBytes is a release whose chart has the same name and version as r's, and other content.
func (p *plan) otherBytes(r *release) *release {
	for _, have := range p.releases {
		if a, b := have.chart, r.chart; !have.Local && a.Metadata.Name == b.Metadata.Name && a.Metadata.Version == b.Metadata.Version && !archive.Same(a, b) {
			return have
		}
	}
	return nil
}

func (p *plan) addChart(ch *chart.Chart) {
	if !slices.ContainsFunc(p.charts, func(have *chart.Chart) bool {
		return have.Metadata.Name == ch.Metadata.Name && have.Metadata.Version == ch.Metadata.Version
	}) {
		p.charts = append(p.charts, ch)
	}
}

// disabled: overrides.enabled: false leaves a component out of the bundle.
func disabled(c *recipe.Component) bool {
	enabled, ok := c.Overrides["enabled"].(bool)
	return ok && !enabled
}

// A component's name becomes a directory, a Helm release, an Application and a HelmRelease.
var componentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$`)

func checkComponent(c *recipe.Component) error {
	fail := func(problem string) error {
		return &ComponentError{Component: c.Name, Origin: c.Declared, Problem: problem}
	}
	switch {
	case !componentName.MatchString(c.Name):
		return fail("its name cannot be a Helm release's: use at most 53 lower-case letters, digits and dashes")
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
	r.Release = Release{Component: c.Name, Name: c.Name, Namespace: namespace(c), Chart: name, ChartVersion: c.Version, ChartFrom: from}
	if in.ChartRepository != "" {
		r.source = strings.TrimSuffix(in.ChartRepository, "/")
	}
	if in.ChartRepository != "" || c.Version == "" {
		// The replacement repository is filled from the chart source, so a version there is spelled
		// as the chart spells it.
		r.ChartVersion = ch.Metadata.Version
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
	if !componentName.MatchString(name) {
		return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "the release of its manifests, " + name + ", has a name of more than 53 characters"}
	}
	if r.chart = in.Given[name].Chart; r.chart == nil {
		var err error
		if r.files, r.chart, err = localChart(c, name, july.WithoutHooks(in.Recipe, manifests), values); err != nil {
			return nil, &ComponentError{Component: c.Name, Origin: c.Declared, Problem: "its manifests do not make a chart: " + err.Error()}
		}
	}
	r.Chart, r.ChartVersion = r.chart.Metadata.Name, r.chart.Metadata.Version
	return r, nil
}

func namespace(c *recipe.Component) string {
	if c.Namespace == "" {
		return "default"
	}
	return c.Namespace
}

// link turns the components' dependencies into the releases'. A dependency counts as deployed when
// its manifests are, too.
func (p *plan) link(components []recipe.Component) error {
	position := map[string]int{}
	for i, r := range p.releases {
		if j, ok := position[r.Name]; ok {
			return &ComponentError{Component: r.Component, Origin: r.component.Declared,
				Problem: fmt.Sprintf("its release %s has the same name as one of component %s", r.Name, p.releases[j].Component)}
		}
		position[r.Name] = i
	}
	for i, r := range p.releases {
		if r.Name == r.Component+postSuffix {
			continue // depends on its own component's chart
		}
		if pre := r.Component + preSuffix; r.Name == r.Component && i > 0 && p.releases[i-1].Name == pre && p.releases[i-1].Component == r.Component {
			r.DependsOn = append(r.DependsOn, pre) // which has the component's dependencies
			continue
		}
		for _, d := range r.component.DependencyRefs {
			at, ok := position[d]
			if !ok {
				if slices.ContainsFunc(components, func(c recipe.Component) bool { return c.Name == d && disabled(&c) }) {
					p.warnf("%s depends on %s, which the recipe disables", r.Component, d)
					continue
				}
				return &ComponentError{Component: r.Component, Origin: r.component.Declared, Problem: "it depends on " + d + ", which is not in the recipe"}
			}
			if at > i {
				return &ComponentError{Component: r.Component, Origin: r.component.Declared, Problem: "it comes before " + d + ", which it depends on, in deploymentOrder"}
			}
			r.DependsOn = append(r.DependsOn, d)
			if post := d + postSuffix; at+1 < len(p.releases) && p.releases[at+1].Name == post && p.releases[at+1].Component == d {
				r.DependsOn = append(r.DependsOn, post)
			}
		}
	}
	return nil
}

// RecipeName is the name by which a recipe is published and its root objects are called: the one it
// was asked for by, or that of the last overlay that matched.
func RecipeName(r *recipe.Result) string {
	name := r.Metadata.Name
	if n := len(r.Metadata.AppliedOverlays); name == "" && n > 0 {
		name = r.Metadata.AppliedOverlays[n-1]
	}
	name = strings.Trim(notInName.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if name == "" {
		return "recipe"
	}
	return name
}

var notInName = regexp.MustCompile(`[^a-z0-9-]+`)
