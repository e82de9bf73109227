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

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

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
	// argoDiffers: Argo CD installs other objects than Helm, or runs other hooks.
	argoDiffers bool
	// unnamed is the error of a hook to which Argo CD alone gives a name; nil without one.
	unnamed error
	// others are the plans for deployers through which something else is installed.
	others *otherPlans
}

// otherPlans are made when they are first asked for.
type otherPlans struct {
	mu    sync.Mutex
	plans map[controllers]*plan
}

// Prepare renders the recipe's charts once and gives an Input with which every deployer's Bundle
// reuses that work, also at the same time. Between the calls only RepoURL, TargetRevision,
// PlainHTTP, Project and ChartRepository may change, the last to another repository only: an Input
// that was prepared without one must stay without.
func Prepare(ctx context.Context, in Input) (Input, error) {
	in.prepared = nil
	var err error
	if in.Components, err = buildKustomization(ctx, in.Components); err != nil {
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
	if p.unnamed != nil && deployer != "" && !ByArgoCD(deployer) {
		return nil, p.unnamed
	}
	if p.elsewhere != (in.ChartRepository != "") {
		return nil, errors.New("bundle: this input was prepared with a chart repository and has none now, or the other way round")
	}
	return p.at(in.ChartRepository).carrying(in.Vendored)
}

// get makes the plan for the controllers of a deployer, once.
func (o *otherPlans) get(ctx context.Context, in Input, deployer string) (*plan, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	by := rowOf(deployer).by
	if p := o.plans[by]; p != nil {
		return p, nil
	}
	p, err := makePlan(ctx, in, deployer)
	if err == nil {
		o.plans[by] = p
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

// carrying gives the plan with charts in the bundle that are made of those of the input.
func (p *plan) carrying(vendored map[string]Vendored) (*plan, error) {
	if len(vendored) == 0 {
		return p, nil
	}
	own := *p
	own.releases, own.expectation.Releases = nil, nil
	for _, r := range p.releases {
		v, ok := vendored[r.Component]
		if with := *r; ok && !r.Local {
			values, err := marshal(map[string]any{v.Chart: r.values})
			if err != nil {
				return nil, err
			}
			with.Local, with.Carried = true, v.Chart
			with.files = append(slices.Clone(v.Files), File{"values.yaml", 0o644, values})
			r = &with
		}
		own.releases, own.expectation.Releases = append(own.releases, r), append(own.expectation.Releases, r.Release)
	}
	return &own, nil
}

// makePlan makes the plan for a deployer, or, without one, for whoever sees the APIs that Helm sees,
// and runs its hooks.
func makePlan(ctx context.Context, in Input, deployer string) (*plan, error) {
	if in.Recipe == nil {
		return nil, errors.New("bundle: no recipe")
	}
	p := &plan{elsewhere: in.ChartRepository != "", others: &otherPlans{plans: map[controllers]*plan{}}}
	p.expectation.ServedBefore = in.APIs.Server
	p.expectation.Overrides = slices.Clone(in.PutIn)
	var components []*recipe.Component
	for i := range in.Components {
		if c := &in.Components[i]; !c.Disabled() {
			components = append(components, c)
		}
	}
	err := lists.InOrder(ctx, len(components), func(ctx context.Context, _, i int) (*contribution, error) {
		return contribute(ctx, in, components[i])
	}, func(i int, c *contribution) error { return p.add(in, components[i], c) })
	if err != nil {
		return nil, err
	}
	p.replaced = sortedUnique(p.replaced)
	for _, r := range p.releases {
		r.Given, r.argocd = in.Given[r.Name], ByArgoCD(deployer)
	}
	if err := p.link(in.Components); err != nil {
		return nil, err
	}
	if len(p.releases) == 0 {
		return nil, fmt.Errorf("the recipe %s has no component: %w", RecipeName(in.Recipe), errEmpty)
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

// add puts a component behind those that come before it.
func (p *plan) add(in Input, c *recipe.Component, made *contribution) error {
	p.expectation.Overrides = slices.Concat(p.expectation.Overrides, made.overrides, kustomizeOverrides(c))
	p.expectation.Warnings = slices.Concat(p.expectation.Warnings, c.Undone, kustomizeWarnings(c))
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
				if slices.ContainsFunc(components, func(c recipe.Component) bool { return c.Name == d && c.Disabled() }) {
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
