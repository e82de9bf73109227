package facts

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Place is the line that decides about a problem, as PlaceOf has it, and, where that is no line of a
// manifest, the line of the manifest that has the field, or what is above it. The text is for people.
func (x *Index) Place(p *problem.Problem) (result.Place, string) {
	if p.At.File != "" {
		return p.At, "set in " + p.At.String()
	}
	place, where := placeOf(x.Components, p, func() string { return x.inChart(p) })
	if place.Path != "" || x.Expectation == nil || strings.HasPrefix(where, "set in "+place.String()) {
		return place, where
	}
	if at, ok := x.Expectation.OriginOf(p.From, p.Template, Steps(p.Path)...); ok {
		return result.Place{File: at.File, Line: at.Line}, "set in " + at.String()
	}
	return place, where
}

// inChart is the template of the chart that has the problem's object, with the line of the field.
func (x *Index) inChart(p *problem.Problem) string {
	if x.Expectation == nil {
		return p.Template
	}
	for i := range x.Expectation.Objects {
		if o := &x.Expectation.Objects[i]; o.Template == p.Template && o.Component == p.Component && o.Object.GetKind() == p.From.Kind && o.Object.GetName() == p.From.Name {
			return manifestline.In(o.Chart, o.Template, manifestline.Object{Kind: p.From.Kind, Name: p.From.Name}, Steps(p.Path)...)
		}
	}
	return p.Template
}

// PlaceOf returns the line that sets a name in a component's template: the value of the recipe that
// is this name, or the line of a manifest that contains it, or else the line that declares the
// component. The text is for people. An empty name stands for the component. The place is zero for
// a component that is not listed.
func PlaceOf(components []recipe.Component, component, template, name string) (result.Place, string) {
	return placeOf(components, &problem.Problem{Component: component, Template: template, Name: name}, func() string { return template })
}

// placeOf is PlaceOf for a problem, whose object is known, with another text for the template where
// no file of the recipe has the name.
func placeOf(components []recipe.Component, of *problem.Problem, inChart func() string) (result.Place, string) {
	component, template, name := of.Component, of.Template, of.Name
	i := slices.IndexFunc(components, func(r recipe.Component) bool { return r.Name == component })
	if i < 0 {
		return result.Place{}, "set in " + template
	}
	r := &components[i]
	if name != "" {
		values, above := valuesFor(r.Values, template)
		if path := pathTo(values, name, above); path != "" {
			if o, ok := r.Origins[path]; ok {
				return result.Place{File: o.File, Line: o.Line, Path: path}, fmt.Sprintf("value path %s, set in %s", path, o)
			}
		}
		for _, object := range []manifestline.Object{{Kind: of.From.Kind, Name: of.From.Name}, {}} { // or in any
			for _, m := range sourcesOf(r, template) {
				if line := manifestline.Mention(string(m.Content), object, name); line > 0 {
					at := m.Origin(line)
					return result.Place{File: at.File, Line: at.Line}, "set in " + at.String()
				}
			}
		}
	}
	return result.Place{File: r.Declared.File, Line: r.Declared.Line}, fmt.Sprintf("set in %s (component declared in %s)", inChart(), r.Declared)
}

// valuesFor returns the values that a template reads, and the path above them: those below a chart's
// name, for the templates of a chart in a chart.
func valuesFor(values map[string]any, template string) (map[string]any, string) {
	_, inner, _ := strings.Cut(template, "/charts/")
	name, _, _ := strings.Cut(inner, "/")
	if own, ok := values[name].(map[string]any); ok {
		return own, name
	}
	return values, ""
}

// sourcesOf returns the files that a person can edit, the template itself first: for a kustomization
// its own, before the build.
func sourcesOf(r *recipe.Component, template string) []recipe.Manifest {
	if r.Kustomization != nil {
		return r.Kustomization.Inputs()
	}
	all := slices.Concat(r.PreManifests, r.Manifests)
	slices.SortStableFunc(all, func(a, b recipe.Manifest) int {
		switch own := a.File == template; {
		case own == (b.File == template):
			return 0
		case own:
			return -1
		}
		return 1
	})
	return slices.DeleteFunc(all, func(m recipe.Manifest) bool { return m.Line > 0 }) // of no file
}

// pathTo returns the first value path, in alphabetical order, whose value is the text or a list
// with it; empty if there is none.
func pathTo(values map[string]any, text, above string) string {
	for _, k := range slices.Sorted(maps.Keys(values)) {
		path := k
		if above != "" {
			path = above + "." + k
		}
		switch v := values[k].(type) {
		case map[string]any:
			if found := pathTo(v, text, path); found != "" {
				return found
			}
		default:
			if slices.Contains(Leaves(v), text) || strings.Contains(strings.ToLower(k), "replica") && numeral(v) == text {
				return path
			}
		}
	}
	return ""
}

// numeral is a whole number as text; empty for anything else.
func numeral(v any) string {
	switch v := v.(type) {
	case int, int64, uint64:
		return fmt.Sprint(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// Leaves returns the strings in a value, at any depth.
func Leaves(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, Leaves(item)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, Leaves(v[k])...)
		}
		return all
	}
	return nil
}
