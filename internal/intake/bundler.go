// Package intake has the bundles that this program does not generate: one that is in a directory
// already (Dir), and those that AICR's own CLI makes (Exec). It says what a directory is, and reads
// the files of each deployer into an expectation.
package intake

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

// unit is one release of a bundle, as the bundle's files have it.
type unit struct {
	name, namespace string
	helmName        string // if it is another
	at              recipe.Origin
	values          valueSet
	// repo, chart and version are of a chart from a repository; dir is where a chart in the bundle
	// is.
	repo, chart, version string
	dir                  string
	local                *chart.Chart
	defaults             map[string]any // the chart's own values, where others are in their place
	after                []string       // names of units
	needs                []string       // likewise, where no recipe.yaml has any
	ref                  result.Ref
	dependsOn            []result.Ref
	// crdScript is what applies the chart's CRDs before an upgrade.
	crdScript string
	forces    bool   // its script passes --force-conflicts
	half      string // of a split set
	file      string // of helmfile, that has the release; compared: helm-diff checks its kinds first
	compared  bool
	unawaited bool      // the deployer does not wait for its objects, and not by flux
	flux      *fluxUnit // nil if the lane is not one of Flux
}

// fluxUnit is what a HelmRelease says besides: how long Flux waits for it, 0 if it does not, the OCIRepository
// that its chart is from, empty if it is from elsewhere, and its post-renderers.
type fluxUnit struct {
	within time.Duration
	source string
	post   render.Post
	place  func(step int, field string, index int) recipe.Origin
}

// form reads the layout of one deployer's bundle.
type form interface {
	// units are the releases, in the order of deployment.
	units() []unit
	// fit gives the files for the place in the input, the objects that the deployer reports on, and
	// what starts it.
	fit(ctx context.Context, in bundle.Input, b *bundle.Bundle) error
	// place is where the bundle is to be published, if the form decides that.
	place(in bundle.Input) bundle.Input
}

// Bundle is a bundle that another program made.
type Bundle struct {
	tree     *tree
	form     form
	deployer bundle.Deployer
	recipe   *recipe.Result // its own recipe.yaml, or the one that its maker was given; nil without one
	prefix   string         // what each release has in front of the name of its component in recipe
	warnings []string
	// unknown lists contents of the bundle that no check can verify.
	unknown []string
	// overrides are what was added to the bundle's files, for people.
	overrides []string
	// only is the half of a split set that is run; empty for both.
	only string
	// laid is not nil if this program laid it out.
	laid *Laid
}

// Open reads the bundle in a directory and makes sure that this deployer's lane can take it. Errors
// name file and line.
func Open(ctx context.Context, dir string, d bundle.Deployer) (*Bundle, error) {
	return open(ctx, dir, dir, d, nil)
}

// open reads the directory dir and calls it by another name. resolved is the recipe that the maker was given, for a
// bundle that has none in it.
func open(ctx context.Context, dir, called string, d bundle.Deployer, resolved []byte) (*Bundle, error) {
	t, err := readTree(dir, called)
	if err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	if _, ok := t.original[recipeName]; !ok && resolved != nil {
		t.original[recipeName] = bundle.File{Path: recipeName, Mode: 0o644, Content: resolved}
	}
	b := &Bundle{tree: t, deployer: d}
	if b.warnings, err = t.verify(); err != nil {
		return nil, err
	}
	if err := t.checkVendored(); err != nil {
		return nil, err
	}
	if err := b.readRecipe(); err != nil {
		return nil, err
	}
	b.overrides = t.admitGates()
	if err := b.readForm(ctx); err != nil {
		return nil, err
	}
	row, err := formOf(d)
	if err != nil {
		return nil, err
	}
	if err := b.checkInfo(row); err != nil {
		return nil, err
	}
	b.findPrefix()
	return b, b.checkSplit()
}

// readForm reads what the deployer's lane takes.
func (b *Bundle) readForm(ctx context.Context) error {
	row, err := formOf(b.deployer)
	if err != nil {
		return err
	}
	if bundle.ByGit(b.deployer.Name()) {
		if err := b.tree.checkGit(); err != nil {
			return err
		}
	}
	if b.form, b.unknown, err = row.read(ctx, b.tree); err != nil {
		return err
	}
	b.warnings = append(b.warnings, b.tree.notes...)
	if len(b.form.units()) == 0 {
		return fmt.Errorf("%s deploys nothing: no release was found in it", b.tree.name)
	}
	return nil
}

// RecipeName is the name that the bundle's own recipe.yaml gives it; empty if it gives none.
func (b *Bundle) RecipeName() string {
	if b.recipe == nil || b.recipe.Metadata.Name == "" && len(b.recipe.Metadata.AppliedOverlays) == 0 {
		return ""
	}
	return bundle.RecipeName(b.recipe)
}

// Criteria are those of the bundle's recipe.yaml; zero without one.
func (b *Bundle) Criteria() recipe.Criteria {
	if b.recipe == nil {
		return recipe.Criteria{}
	}
	return b.recipe.Criteria
}

// Resolved is the recipe of the bundle as far as its files tell, under this name.
func (b *Bundle) Resolved(name string) *recipe.Result {
	r := recipe.Result{APIVersion: "aicr.nvidia.com/v1alpha1", Kind: "RecipeResult"}
	if b.recipe != nil {
		r = *b.recipe
	}
	r.Metadata.Name = name
	return &r
}

// Components are the bundle's releases as components, and what the bundle has in place of generated
// charts. The manifests of a component with a chart are a release of their own, COMPONENT-post.
func (b *Bundle) Components() ([]recipe.Component, map[string]bundle.Given) {
	var components []recipe.Component
	given := map[string]bundle.Given{}
	units := b.run()
	for i, u := range units {
		values, local := u.values, u.local
		owner := ownerOf(units[:i+1], u.name)
		g := bundle.Given{Chart: local, HelmName: u.helmName, Path: u.dir, Whole: b.laid != nil && local != nil, Under: b.valuesKey(u, owner), CRDScript: u.crdScript, ForceConflicts: u.forces, Unawaited: u.unawaited, File: u.file, Compared: u.compared, Complete: true}
		if u.flux != nil {
			g.Within, g.Unawaited, g.Source, g.Post, g.PostPlace = u.flux.within, u.flux.within == 0, u.flux.source, u.flux.post, u.flux.place
		}
		if g.Source != "" {
			g.Seen = publish.VersionInFlux
		}
		if g.Whole {
			g.Defaults = u.defaults
		}
		given[u.name] = g
		if owner != u.name {
			components[len(components)-1].Manifests = manifestsOf(b.tree, u)
			continue
		}
		c := recipe.Component{Declared: u.at, Registered: cmp.Or(values.whole, u.at)}
		c.ComponentRef = recipe.ComponentRef{Name: u.name, Namespace: u.namespace, Type: "Helm", DependencyRefs: b.dependencies(units[:i], u)}
		if local != nil {
			if b.laid == nil {
				values = values.below(b.valuesKey(u, owner))
			}
			c.Manifests = manifestsOf(b.tree, u)
		} else {
			c.Chart, c.Source, c.Version = u.chart, b.sourceOf(u), u.version
		}
		c.Values, c.Origins, c.NodeScheduling = values.values, values.origins, schedulingPathsOf(values.values)
		if c.Values == nil {
			c.Values = map[string]any{}
		}
		components = append(components, c)
	}
	return components, given
}

// component is the name of a release's component in recipe.yaml.
func (b *Bundle) component(release string) string { return strings.TrimPrefix(release, b.prefix) }

// valuesKey is the name below which a chart in the bundle has the values of its component: that of the chart
// that it carries along, where it is nothing besides, and else the component's.
func (b *Bundle) valuesKey(u unit, owner string) string {
	if u.local != nil && len(u.local.Dependencies()) == 1 && len(u.local.Templates) == 0 {
		return u.local.Dependencies()[0].Name()
	}
	return b.component(owner)
}

// sourceOf is the repository of a release's chart. A bundle that a run has kept names the registry of
// its cell, which is gone; the recipe's own is in recipe.yaml.
func (b *Bundle) sourceOf(u unit) string {
	host := strings.TrimPrefix(u.repo, "oci://")
	if host == u.repo || b.recipe == nil || !egress.Loopback(strings.Split(host, "/")[0]) {
		return u.repo
	}
	for _, ref := range b.recipe.ComponentRefs {
		if ref.Name == b.component(u.name) && ref.Source != "" {
			return ref.Source
		}
	}
	return u.repo
}

// templateFile is a file of a chart, or of a chart in its charts directory, that may have objects.
var templateFile = regexp.MustCompile(`^(charts/[^/]+/)*(templates|crds)/`)

// manifestsOf are the templates of a chart in the bundle, and of the charts in it.
func manifestsOf(t *tree, u unit) []recipe.Manifest {
	manifests := []recipe.Manifest{}
	for _, name := range t.names() {
		if rel, in := strings.CutPrefix(name, u.dir+"/"); in && (templateFile.MatchString(rel) || rel == "Chart.yaml") {
			m := recipe.Manifest{Path: name, File: t.at(name, 0).File, Content: t.files[name].Content}
			if p := t.places[name]; p.Lines != nil {
				m.At = p.Origin
			}
			manifests = append(manifests, m)
		}
	}
	return manifests
}

// dependencies are those that the bundle's deployer knows of, or, where it goes by order alone,
// those of recipe.yaml: as far as they come before.
func (b *Bundle) dependencies(before []unit, u unit) []string {
	refs := u.after
	if refs == nil && b.recipe != nil {
		for _, ref := range b.recipe.ComponentRefs {
			if ref.Name == b.component(u.name) {
				for _, name := range ref.DependencyRefs {
					refs = append(refs, b.prefix+name)
				}
			}
		}
	}
	if b.recipe == nil { // else needs give the order, and the recipe the dependencies
		refs = slices.Concat(refs, u.needs)
	}
	if u.after == nil { // else the deployer knows nothing of these
		var earlier []string
		for _, b := range before {
			earlier = append(earlier, b.name)
		}
		refs = dependsOn(u.name, refs, earlier)
	}
	var found []string
	for _, name := range refs {
		if name = ownerOf(before, name); name != "" && name != u.name && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// ownerOf is the component of a release among units; empty if it is not among them.
func ownerOf(units []unit, name string) string {
	for i, u := range units {
		if u.name != name {
			continue
		}
		if parent, ok := strings.CutSuffix(name, phasePost); ok && u.local != nil && i > 0 && units[i-1].name == parent && units[i-1].local == nil {
			return parent
		}
		return name
	}
	return ""
}

// Make gives the bundle for the registry that the input names, with the expectation that its own
// files make, and the input that describes it. Of the input, the recipe's name, the charts and the
// place are used.
func (b *Bundle) Make(ctx context.Context, in bundle.Input) (bundle.Input, *bundle.Bundle, error) {
	in.Recipe = b.Resolved(bundle.RecipeName(in.Recipe))
	in.Components, in.Given = b.Components()
	in.MayBeEmpty = b.laid != nil
	in.Scheduling = bundle.Scheduling{} // the program that made the bundle has injected its own
	in = b.form.place(in)
	prepared, err := bundle.Prepare(ctx, in)
	if err != nil {
		return in, nil, b.worded(err)
	}
	made, err := b.deployer.Bundle(ctx, prepared)
	if err != nil {
		return in, nil, b.worded(err)
	}
	for i := range made.Expectation.Workloads {
		made.Expectation.Workloads[i].Plain = b.laid != nil
	}
	if b.laid == nil { // no node of a laid-out bundle has the taint
		if err := b.markLacking(ctx, prepared, made); err != nil {
			return in, nil, err
		}
	}
	made.Expectation.NoPods = b.laid != nil && len(made.Expectation.Objects) > 0 && !slices.ContainsFunc(made.Expectation.Workloads, hasPods)
	made.Foreign = &bundle.Foreign{}
	if b.laid == nil { // else the report names the app
		made.Foreign.Maker = "it was in " + b.tree.name
	}
	e := &made.Expectation
	e.Warnings = append(e.Warnings, b.warnings...)
	e.Overrides = append(e.Overrides, b.overrides...)
	if err := b.form.fit(ctx, in, made); err != nil {
		return in, nil, err
	}
	if b.laid != nil {
		b.laid.Add(in, made)
	}
	return in, made, nil
}

// hasPods reports whether a workload has pods once it is delivered.
func hasPods(w bundle.Workload) bool {
	return w.Replicas != 0 && w.Kind != "CronJob" && !w.Ephemeral
}

// markLacking finds the value paths by which workloads would tolerate simulated nodes, where the
// bundle sets none.
func (b *Bundle) markLacking(ctx context.Context, in bundle.Input, made *bundle.Bundle) error {
	in.Scheduling = bundle.KwokScheduling()
	if err := bundle.MarkMissingPaths(ctx, b.deployer, in, made); err != nil {
		return err
	}
	places := map[string]valueSet{}
	for _, u := range b.form.units() {
		values := u.values
		if u.local != nil {
			values = values.below(b.valuesKey(u, u.name))
		}
		if values.whole.File == "" {
			values.whole = u.at
		}
		places[u.name] = values
	}
	for i := range made.Expectation.Workloads {
		w := &made.Expectation.Workloads[i]
		for j := range w.ForgottenPaths {
			vp := &w.ForgottenPaths[j]
			vp.Lacking, vp.Origin = true, places[w.Component].nearest(vp.Path)
		}
	}
	return nil
}

// wordedError is an error about an app in other words.
type wordedError struct {
	error
	text string
}

func (e *wordedError) Error() string { return e.text }
func (e *wordedError) Unwrap() error { return e.error }

// worded is an error of the bundle's making, which calls what is delivered the recipe.
func (b *Bundle) worded(err error) error {
	text := (&bundle.Expectation{Repository: b.laid != nil}).Worded(err.Error())
	if text == err.Error() {
		return err
	}
	return &wordedError{err, text}
}

// NotVerified lists facts that the bundle's files do not contain, and contents without a check.
func (b *Bundle) NotVerified(made *bundle.Bundle) []string {
	lines := slices.Clone(b.unknown)
	if len(b.tree.filled) > 0 {
		lines = append(lines, "bundle: values that are filled in where it is installed were used as the bundle has them: "+fewOf(b.tree.filled))
	}
	if b.laid != nil {
		if made.Expectation.NoPods {
			lines = append(lines, "app: it has no workload whose pods stay, so that no pod was verified")
		}
		return lines
	}
	var anywhere []string
	for _, w := range made.Expectation.Workloads {
		if w.Node == bundle.NodeAny {
			anywhere = append(anywhere, fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name))
		}
	}
	if made.Foreign.AnyNode = len(anywhere); len(anywhere) > 0 {
		lines = append(lines, fmt.Sprintf("bundle: which nodes these workloads belong on is not known, since the bundle gives them no selector of %s, nor of %s, as it was before July 2026: %s", bundle.TodaysNodeTypeLabel, bundle.NodeTypeLabel, fewOf(anywhere)))
	}
	if b.recipe == nil {
		lines = append(lines, "bundle: it has no recipe.yaml, so that AICR's criteria, constraints and dependencies are not known")
	}
	return lines
}

// nullified leaves out the values of a chart that a null takes away, as Helm does for values beside the chart. A null for
// which the chart has no value stays.
func nullified(values, own map[string]any) map[string]any {
	made := make(map[string]any, len(values))
	for key, v := range values {
		had, there := own[key]
		if v == nil && there && had != nil {
			continue
		}
		inner, isMap := v.(map[string]any)
		if below, both := had.(map[string]any); isMap && both {
			v = nullified(inner, below)
		}
		made[key] = v
	}
	return made
}

// withValues gives a unit's chart in the bundle the unit's values in place of its own, which are kept beside it.
func (u *unit) withValues() {
	if u.local == nil {
		return
	}
	if u.defaults = u.local.Values; u.defaults == nil {
		u.defaults = map[string]any{}
	}
	u.local = effective(u.local, u.values.values)
}

// effective gives a chart of the bundle with these values in place of its own.
func effective(ch *chart.Chart, values map[string]any) *chart.Chart {
	if values == nil {
		return ch
	}
	values = nullified(values, ch.Values)
	c := archive.Clone(ch)
	c.Values = values
	c.Raw = slices.Clone(ch.Raw)
	for i, f := range c.Raw {
		if f.Name == chartutil.ValuesfileName {
			if data, err := yaml.Marshal(values); err == nil { // values were read from YAML
				c.Raw[i] = &chart.File{Name: f.Name, Data: data}
			}
		}
	}
	return c
}
