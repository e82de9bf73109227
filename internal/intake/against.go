package intake

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

// intended are the differences between what a recipe says and what AICR's bundler writes that are meant, each with
// its reason. It is short: of the 168 files of values that AICR's CLI of July made of 12 recipes, all are equal to this
// program's.
func intended() []intention {
	return []intention{
		{component: "dra-node-labeler", why: "AICR's bundler delivers it only with --dra-eviction-node-label"},
	}
}

// intention is a row of the table of intended differences: a component that a bundle may lack, or, with a path, a
// value of it that may be another.
type intention struct{ component, path, why string }

func meant(component, path string) bool {
	return slices.ContainsFunc(intended(), func(i intention) bool { return i.component == component && i.path == path })
}

// mostValues is how many values of one component are named.
const mostValues = 5

// against holds a bundle against what its recipe promises. Findings are faults of whoever made the bundle; each
// names the place in the recipe and that in the bundle. Warnings are what may be meant.
type against struct {
	b        *Bundle
	p        *promise
	units    []unit
	owners   map[string]string   // of each release of the bundle
	classed  map[string][]string // value paths of components that a finding about the class of node names
	findings []result.Finding
	warnings []string
}

// compare holds the bundle against the promise.
func (b *Bundle) compare(p *promise) (findings []result.Finding, warnings []string) {
	a := &against{b: b, p: p, units: b.form.units(), owners: map[string]string{}, classed: map[string][]string{}}
	for i, u := range a.units {
		a.owners[u.name] = b.component(ownerOf(a.units[:i+1], u.name))
	}
	a.components()
	for _, ref := range p.deployed() {
		if u := a.unit(ref.Name); u != nil {
			a.source(ref, u)
			a.class(ref, u)
		}
	}
	a.order()
	a.values()
	a.overridden()
	for i := range a.findings {
		if f := &a.findings[i]; len(a.findings) > 1 || len(f.Story) > 0 { // of the others, reports show the story only
			story := []string{f.Cause}
			for _, line := range f.Story {
				story = append(story, "  "+line)
			}
			f.Story = story
		}
	}
	return a.findings, a.warnings
}

// unit is the bundle's release of a name of the recipe; nil if there is none.
func (a *against) unit(name string) *unit {
	for i := range a.units {
		if a.units[i].name == a.b.prefix+name {
			return &a.units[i]
		}
	}
	return nil
}

// find adds a finding at a place of the recipe, or of the bundle.
func (a *against) find(component string, at recipe.Origin, path string, story []string, format string, args ...any) {
	a.findings = append(a.findings, result.Finding{Component: component, Cause: fmt.Sprintf(format, args...), Place: result.Place{File: at.File, Line: at.Line, Path: path}, Story: story})
}

// components: what the recipe deploys is in the bundle, and nothing else is.
func (a *against) components() {
	refs := a.p.deployed()
	known := map[string]bool{}
	whole := a.b.tree.at("", 0)
	for _, ref := range refs {
		known[ref.Name] = true
		if a.unit(ref.Name) != nil || meant(ref.Name, "") || slices.Contains(a.p.optional, ref.Name) || a.unit(ref.Name+phasePost) != nil && ref.Chart == "" {
			continue
		}
		at, places := a.p.where(ref.Name)
		a.find(ref.Name, at, "", nil, "component %s of the recipe (%s) is not in the bundle (%s): the bundler left it out, and nobody told it to", ref.Name, places, whole)
	}
	for _, r := range a.p.releases {
		if r.Release.Name != r.Release.Component && a.unit(r.Release.Name) == nil && a.unit(r.Release.Component) != nil && !a.carriesAll(r) {
			at, places := a.p.where(r.Release.Component)
			a.find(r.Release.Component, at, "", nil, "release %s, the manifests of component %s (%s), is not in the bundle (%s)", r.Release.Name, r.Release.Component, places, whole)
		}
	}
	for _, u := range a.units {
		name := a.b.component(u.name)
		if known[name] || known[phaseComponent(name)] {
			continue
		}
		if off := slices.Contains(a.p.without, name) || slices.Contains(a.p.without, phaseComponent(name)); off && a.p.told {
			a.find(name, u.at, "", nil, "the bundle deploys %s (%s), and its maker was told to leave it out", name, u.at)
			continue
		}
		said := "which the recipe does not have"
		for _, ref := range a.p.recipe.ComponentRefs {
			if ref.Name == name {
				said = "which the recipe switches off (" + a.p.lines[name].String() + ")"
			}
		}
		a.find(name, u.at, "", nil, "the bundle deploys %s (%s), %s", name, u.at, said)
	}
}

// carried is the chart of that name which a chart of the bundle carries along, and its version; empty if it has none.
func carried(local *chart.Chart, name string) (string, string) {
	if local.Name() == name {
		return name, local.Metadata.Version
	}
	for _, d := range local.Dependencies() {
		if d.Name() == name {
			return name, d.Metadata.Version
		}
	}
	for _, d := range local.Metadata.Dependencies {
		if d.Name == name {
			return name, d.Version
		}
	}
	return "", ""
}

// carriesAll reports whether the chart of the component, which the bundle carries along, has these manifests too.
func (a *against) carriesAll(r bundle.Install) bool {
	u := a.unit(r.Release.Component)
	if u == nil || u.local == nil {
		return false
	}
	for _, t := range r.Chart.Templates {
		if !slices.ContainsFunc(u.local.Templates, func(have *chart.File) bool { return path.Base(have.Name) == path.Base(t.Name) }) {
			return false
		}
	}
	return true
}

// source: the component's namespace, chart and version are the recipe's.
func (a *against) source(ref recipe.ComponentRef, u *unit) {
	at, places := a.p.where(ref.Name)
	differs := func(what, theirs, ours string) {
		a.find(ref.Name, at, "", []string{"in the bundle: " + u.at.String(), "in the recipe: " + places}, "component %s: %s is %s in the bundle (%s), and %s by the recipe (%s)", ref.Name, what, shownOr(theirs), u.at, shownOr(ours), places)
	}
	chart, repo := ref.Chart, ref.Source
	if c, ok := a.p.parts[ref.Name]; ok {
		ref.Namespace, chart, repo = c.Namespace, c.Chart, c.Source
		if chart != "" {
			chart = catalog.RefOf(&c).Name
		}
	} else if i := strings.LastIndex(chart, "/"); i >= 0 {
		chart = chart[i+1:]
	}
	if ref.Namespace != "" && ref.Namespace != u.namespace {
		differs("the namespace", u.namespace, ref.Namespace)
	}
	if ref.Type == recipe.TypeKustomize || chart == "" && u.local != nil {
		return
	}
	theirs, version := u.chart, u.version
	if u.local != nil {
		if theirs, version = carried(u.local, chart); theirs == "" {
			differs("the chart", "one of the bundle without it", chart)
			return
		}
	} else if host := strings.TrimPrefix(u.repo, ociScheme); repo != "" && u.repo != "" && !egress.Loopback(strings.Split(host, "/")[0]) && !sameRepository(u.repo, repo, chart) {
		differs("the repository of its chart", u.repo, repo)
	}
	if chart != "" && theirs != chart {
		differs("the chart", theirs, chart)
	}
	if ref.Version != "" && version != "" && !a.p.unpinned[ref.Name] && !catalog.SameVersion(version, ref.Version) {
		differs("the version of its chart", version, ref.Version)
	}
}

// sameRepository reports whether two repositories are one. Argo CD's Applications may have the chart's name at the end of
// the address of an OCI registry.
func sameRepository(theirs, ours, chart string) bool {
	plain := func(repo string) string { return strings.TrimPrefix(strings.TrimSuffix(repo, "/"), ociScheme) }
	return plain(theirs) == plain(ours) || plain(theirs) == plain(ours)+"/"+chart
}

func shownOr(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}

// class: what is for system nodes by the registry's paths does not select accelerated ones, nor the other way round.
func (a *against) class(ref recipe.ComponentRef, u *unit) {
	c := a.p.parts[ref.Name]
	values := a.valuesOf(u)
	for _, k := range []struct {
		is, other  bundle.NodeKind
		own, their []string
	}{
		{bundle.NodeSystem, bundle.NodeAccelerated, c.NodeScheduling.System.NodeSelectorPaths, c.NodeScheduling.Accelerated.NodeSelectorPaths},
		{bundle.NodeAccelerated, bundle.NodeSystem, c.NodeScheduling.Accelerated.NodeSelectorPaths, c.NodeScheduling.System.NodeSelectorPaths},
	} {
		var wrong, edits []string
		var first recipe.Origin
		label := bundle.NodeTypeLabel
		for _, p := range k.own {
			selector, _ := valueAt(values.values, p)
			m, _ := selector.(map[string]any)
			if slices.Contains(k.their, p) || a.ownSelector(c, p, k.other) {
				continue
			}
			for _, l := range []string{bundle.NodeTypeLabel, bundle.TodaysNodeTypeLabel} {
				if m[l] != string(k.other) {
					continue
				}
				at := values.nearest(p)
				if o, ok := values.origins[p+"."+l]; ok {
					at = o
				}
				if len(wrong) == 0 {
					first, label = at, l
				}
				wrong = append(wrong, p)
				edits = append(edits, fmt.Sprintf("change %s to `%s: %s` in %s", p, l, k.is, at))
			}
		}
		if len(wrong) == 0 {
			continue
		}
		a.classed[ref.Name] = append(a.classed[ref.Name], wrong...)
		a.find(ref.Name, first, wrong[0], edits, "component %s is for %s nodes by the registry (%s), and its %s in the bundle (%s) select `%s: %s`",
			ref.Name, k.is, c.Registered, few(wrong), first, label, k.other)
	}
}

// ownSelector: the recipe itself selects nodes of this kind at the path.
func (a *against) ownSelector(c recipe.Component, p string, kind bundle.NodeKind) bool {
	v, _ := valueAt(c.Values, p)
	m, _ := v.(map[string]any)
	for _, l := range []string{bundle.NodeTypeLabel, bundle.TodaysNodeTypeLabel} {
		if m[l] == string(kind) {
			return true
		}
	}
	return false
}

// valuesOf are the values of a release's component. A chart in the bundle has them below a name, or, where AICR's CLI
// has filled in the templates already, as they are.
func (a *against) valuesOf(u *unit) valueSet {
	if u.local == nil {
		return u.values
	}
	for _, key := range []string{a.b.valuesKey(*u, a.b.prefix+a.owners[u.name]), phaseComponent(a.b.component(u.name))} {
		if _, ok := u.values.values[key]; ok {
			return u.values.below(key)
		}
	}
	return u.values
}

// order: a component comes after those that it depends on; in the lane that has nothing but an order, that of the
// recipe is kept.
func (a *against) order() {
	refs := a.p.deployed()
	if _, ok := a.b.form.(*helmForm); ok {
		var want, got []string
		for _, ref := range refs {
			if a.unit(ref.Name) != nil {
				want = append(want, ref.Name)
			}
		}
		slices.SortStableFunc(want, func(x, y string) int { return strings.Compare(a.unit(x).half, a.unit(y).half) }) // core, and then ops
		for _, u := range a.units {
			if name := a.b.component(u.name); slices.Contains(want, name) {
				got = append(got, name)
			}
		}
		for i := range want {
			if want[i] == got[i] {
				continue
			}
			at, places := a.p.where(want[i])
			u := a.unit(got[i])
			a.find(got[i], u.at, "", []string{"in the bundle: " + strings.Join(got, ", "), "by the recipe: " + strings.Join(want, ", "), want[i] + " is declared in " + at.String()},
				"component %s is installed (%s) where it is the turn of %s by the recipe's deploymentOrder (%s)", got[i], u.at, want[i], places)
			return
		}
		return
	}
	for _, ref := range refs {
		u := a.unit(ref.Name)
		if u == nil {
			continue
		}
		before := a.before(u.name, map[string]bool{})
		on := ref.DependencyRefs
		if c, ok := a.p.parts[ref.Name]; ok {
			on = c.DependencyRefs
		}
		for _, name := range on {
			if d := a.unit(name); d != nil && d.name != u.name && !before[d.name] {
				_, places := a.p.where(ref.Name)
				a.find(ref.Name, u.at, "", []string{name + " in the bundle: " + d.at.String()}, "component %s depends on %s by the recipe (%s), and nothing in the bundle (%s) makes it wait for it", ref.Name, name, places, u.at)
			}
		}
	}
}

// before are the releases that the deployer has delivered before one.
func (a *against) before(name string, seen map[string]bool) map[string]bool {
	for _, u := range a.units {
		if u.name != name {
			continue
		}
		for _, n := range slices.Concat(u.after, u.needs) {
			if !seen[n] {
				seen[n] = true
				a.before(n, seen)
			}
		}
	}
	return seen
}

// values: what the recipe sets arrives.
func (a *against) values() {
	for _, r := range a.p.releases {
		u := a.unit(r.Release.Name)
		if u == nil || a.p.parts[r.Release.Component].Kustomization != nil {
			continue
		}
		c := a.p.parts[r.Release.Component]
		want := r.Values
		if r.Release.Local {
			want, _ = r.Chart.Values[r.Release.ValuesKey()].(map[string]any)
		}
		d := &differing{a: a, c: c, at: a.valuesOf(u)}
		d.compare("", want, orEmpty(d.at.values))
		d.say(u)
	}
}

// overridden: without a recipes directory it is known of a bundle at least what its recipe.yaml itself sets.
func (a *against) overridden() {
	if a.p.parts != nil || a.p.told {
		return
	}
	for _, ref := range a.p.deployed() {
		u := a.unit(ref.Name)
		if u == nil || ref.Type == recipe.TypeKustomize {
			continue
		}
		d := &differing{a: a, c: recipe.Component{ComponentRef: ref, Declared: a.p.lines[ref.Name]}, at: a.valuesOf(u)}
		d.compare("", settled(ref.Overrides), orEmpty(d.at.values))
		d.more = nil // are of files of values
		d.say(u)
	}
}

// settled are the overrides that no flag of a bundler adds to: neither lists nor what steers pods; and what a null deletes is
// nowhere.
func settled(overrides map[string]any) map[string]any {
	made := map[string]any{}
	for key, value := range overrides {
		name := strings.ToLower(key)
		switch v := value.(type) {
		case nil, []any:
		case map[string]any:
			if below := settled(v); len(below) > 0 && !strings.HasSuffix(name, "nodeselector") {
				made[key] = below
			}
		default:
			if key != document.EnabledKey && key != "install" {
				made[key] = v
			}
		}
	}
	return made
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// differing are the values of one component that are not the recipe's.
type differing struct {
	a     *against
	c     recipe.Component
	at    valueSet
	lines []string // each with both places
	path  string   // of the first
	more  []string // what only the bundle has
}

func (d *differing) compare(at string, want, got map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		d.field(document.Join(at, key), want[key], got, key)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok && !meant(d.c.Name, document.Join(at, key)) && !d.steers(document.Join(at, key)) {
			p := document.Join(at, key)
			d.more = append(d.more, fmt.Sprintf("%s: %s (%s)", p, shownValue(got[key]), d.at.nearest(p)))
		}
	}
}

// field compares the value at a path.
func (d *differing) field(p string, want any, got map[string]any, key string) {
	have, ok := got[key]
	a, isMap := want.(map[string]any)
	b, isMapToo := have.(map[string]any)
	switch {
	case isMap && isMapToo && len(a) > 0:
		d.compare(p, a, b)
		return
	case ok && equal(want, have) || meant(d.c.Name, p) || d.steers(p) || d.said(p):
		return
	}
	theirs := "not set"
	if ok {
		theirs = shownValue(have)
	}
	by := d.c.Declared.String()
	if _, own := d.c.Origins[p]; !own && within(p, d.c.NodeScheduling) {
		by = "by the registry's path, " + d.c.Registered.String()
	} else if o, ok := document.Nearest(d.c.Origins, p); ok {
		by = o.String()
	}
	if d.path == "" {
		d.path = p
	}
	d.lines = append(d.lines, fmt.Sprintf("%s is %s by the recipe (%s), and %s in the bundle (%s)", p, shownValue(want), by, theirs, d.at.nearest(p)))
}

// said: a finding about the class of node names the path.
func (d *differing) said(p string) bool {
	return slices.ContainsFunc(d.a.classed[d.c.Name], func(path string) bool { return p == path || strings.HasPrefix(p, path+".") })
}

// steers: the path is one by which the maker's flags, which are not known, steer pods to nodes.
func (d *differing) steers(p string) bool { return !d.a.p.told && within(p, d.c.NodeScheduling) }

// within reports whether a path is one by which the registry steers pods, or below or above one.
func within(p string, s recipe.NodeScheduling) bool {
	paths := s.NodeCountPaths
	for _, k := range []recipe.SchedulingPaths{s.System, s.Accelerated} {
		paths = slices.Concat(paths, k.NodeSelectorPaths, k.TolerationPaths, k.TaintPaths, k.TaintStrPaths)
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		return p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(path, p+".")
	})
}

// say makes one finding of all differences. Where the maker's flags are not known, one of them may have set the value.
// What only the bundle has is a fault in the form whose bundles are known value for value; a newer AICR may derive more.
func (d *differing) say(u *unit) {
	known := d.a.p.told && document.Measured(d.a.p.recipe.APIVersion)
	if known && len(d.more) > 0 {
		if d.path == "" {
			d.path, _, _ = strings.Cut(d.more[0], ":")
		}
		for _, m := range d.more {
			d.lines = append(d.lines, m+" is only in the bundle")
		}
		d.more = nil
	}
	line := func(lines []string) string {
		if n := len(lines) - 1; n > 0 {
			return fmt.Sprintf("%s (and %d more values)", lines[0], n)
		}
		return lines[0]
	}
	switch {
	case len(d.lines) > 0 && d.a.p.told:
		story := d.lines
		if len(story) == 1 {
			story = nil // it is the cause
		} else if len(story) > mostValues {
			story = append(slices.Clone(story[:mostValues]), fmt.Sprintf("and %d more values", len(d.lines)-mostValues))
		}
		d.a.find(d.c.Name, d.at.nearest(d.path), d.path, story, "%s: %s", u.name, line(d.lines))
	case len(d.lines) > 0:
		d.a.warnings = append(d.a.warnings, fmt.Sprintf("%s: %s: unless a --set of the bundle's maker says so, the bundle has lost it", u.name, line(d.lines)))
	}
	if len(d.more) > 0 && d.a.p.told {
		d.a.warnings = append(d.a.warnings, fmt.Sprintf("%s: only the bundle sets %s: a newer AICR may derive it, and no source here says so", u.name, line(d.more)))
	}
}

// equal: numbers are equal whatever type they were read as.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}

func shownValue(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > 100 {
		return string(text[:100]) + "…"
	}
	return string(text)
}

// valueAt is the value at a dotted path.
func valueAt(values map[string]any, p string) (any, bool) {
	var v any = values
	for key := range strings.SplitSeq(p, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

func few(paths []string) string {
	if n := len(paths) - 1; n > 0 {
		return fmt.Sprintf("%s and %d more paths", paths[0], n)
	}
	return paths[0]
}
