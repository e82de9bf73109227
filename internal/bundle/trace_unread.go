package bundle

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// findUnread warns of the values of a recipe that its charts do not have. Of a simulated chart it is
// not known, as it has only some of its original's; a name that is most like one of these is misspelt all the same.
func (p *plan) findUnread(ctx context.Context, in Input, with render.Pool, renderings []*rendering.Rendering) error {
	simulated := false
	var remote []int
	for i, r := range p.releases {
		switch {
		case r.Local && r.Given.Defaults == nil || len(valuesOf(r.component)) == 0:
		case unusedSimulated(r.chart):
			simulated = true
			remote = append(remote, i)
		default:
			remote = append(remote, i)
		}
	}
	if simulated {
		p.expectation.NotVerified = append(p.expectation.NotVerified,
			"values: whether charts have each value of the recipe, as simulated charts have only some of their originals' values; --charts upstream, or a directory with the originals, shows it")
	}
	return lists.InOrder(ctx, len(remote), func(ctx context.Context, worker, i int) ([]string, error) {
		return p.unreadOf(ctx, in, with[worker], remote[i], renderings), ctx.Err()
	}, func(_ int, warnings []string) error {
		p.expectation.Warnings = append(p.expectation.Warnings, warnings...)
		return nil
	})
}

// valuesOf are the keys of each value that the recipe sets, scheduling paths of the registry apart:
// of those that reach nothing another warning tells.
func valuesOf(c *recipe.Component) [][]string {
	var paths []string
	for _, k := range schedulingOf(c, Scheduling{}) {
		paths = slices.Concat(paths, k.paths.NodeSelectorPaths, k.paths.TolerationPaths, k.paths.TaintPaths, k.paths.TaintStrPaths)
	}
	return setUnused(c.Values, c.Origins, paths)
}

// unreadOf gives the warnings for the component of a release with a chart. What the text of the
// templates makes unread is left out and rendered again.
func (p *plan) unreadOf(ctx context.Context, in Input, renderer *render.Renderer, at int, renderings []*rendering.Rendering) []string {
	r := p.releases[at]
	c := r.component
	var manifests [][]byte
	for _, m := range slices.Concat(c.PreManifests, c.Manifests) {
		manifests = append(manifests, m.Content)
	}
	ch := r.chart
	if r.Local {
		ch = archive.Clone(ch)
		ch.Values = r.Given.Defaults
	}
	unused := findUnused(ch, c.Name, valuesOf(c), manifests)
	if r.Local { // a file of values that several charts share has values of each
		unused = slices.DeleteFunc(unused, func(v unusedValue) bool { return v.Near == "" && p.shares(c, v) })
	}
	whose := "chart"
	if unusedSimulated(r.chart) {
		whose = "the simulated chart"
		unused = slices.DeleteFunc(unused, func(v unusedValue) bool { return !v.misspelt() })
	}
	found := confirmUnused(unused, func(without []unusedValue) bool {
		for i, r := range p.releases {
			if r.component != c {
				continue
			}
			out, err := r.again(ctx, renderer, in.KubeVersion, func(own map[string]any) { dropUnused(own, without) })
			if err != nil || out.Text != renderings[i].Text {
				return false
			}
		}
		return true
	})
	var warnings []string
	for i := range found {
		warnings = append(warnings, fmt.Sprintf("%s: %s %s %s has no value %s", r.Component, whose, r.Chart, r.ChartVersion, found[i].Describe(c.Origins)))
	}
	return warnings
}

// shares reports whether the file that sets a value sets some of another component, too.
func (p *plan) shares(c *recipe.Component, v unusedValue) bool {
	for _, path := range v.Paths {
		place, ok := document.Nearest(c.Origins, path)
		if ok && slices.ContainsFunc(p.releases, func(other *release) bool {
			return other.component != c && slices.ContainsFunc(slices.Collect(maps.Values(other.component.Origins)), func(o recipe.Origin) bool { return o.File == place.File })
		}) {
			return true
		}
	}
	return false
}
