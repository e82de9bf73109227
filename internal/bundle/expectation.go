package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/bundle/operators"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// mostText is all that the charts of a recipe may render together, in bytes. Those of the largest
// recipes make 10 MiB.
const mostText = 64 << 20

// expect renders every release as the deployer has it rendered, and writes down what the cluster
// must contain.
func (p *plan) expect(ctx context.Context, in Input, deployer string) error {
	// One for each goroutine, and one for this.
	with := render.NewPool(lists.Workers() + 1)
	defer with.Close()
	kinds := rendering.CustomScopes{}
	renderings, err := p.render(ctx, with, in, deployer, kinds)
	if err != nil {
		return err
	}
	found, err := p.trace(ctx, in, with, kinds)
	if err == nil {
		err = p.findUnread(ctx, in, with, renderings)
	}
	if err != nil {
		return err
	}
	e := &p.expectation
	for i, r := range p.releases {
		r.DefinitionJobs = renderings[i].DefinitionJobs
		if err := renderings[i].Unnamed; err != nil && p.unnamed == nil {
			p.unnamed = renderError(r, err)
		}
		for _, o := range renderings[i].UpgradeHooks {
			r.UpgradeHooks = append(r.UpgradeHooks, r.object(kinds, o))
		}
		for _, u := range renderings[i].Unmatched {
			if unusedSimulated(r.chart) {
				continue // the original may have what it selects
			}
			idle := Idle{Of: result.Ref{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: FluxNamespace, Name: r.Name}, Field: u.Field, Selects: u.Selects, Near: u.Near, Named: u.Named}
			if r.Given.PostPlace != nil {
				idle.At = r.Given.PostPlace(u.Step, u.Field, u.Index)
			}
			e.Idle = append(e.Idle, idle)
		}
		p.argoDiffers = p.argoDiffers || renderings[i].ArgoDiffers
		e.Releases = append(e.Releases, r.Release)
		for _, o := range renderings[i].Objects {
			for _, line := range o.Doubtful(r.chart, r.fileOf(o.Template)) {
				p.warnf("%s: %s", r.Component, line)
			}
			object := r.object(kinds, o)
			if err := deliverable(r, object); err != nil {
				return err
			}
			e.Objects = append(e.Objects, object)
			p.addWorkload(r, object, "", found)
			for _, made := range synthesized(object, r.Namespace) {
				e.Made = append(e.Made, made)
				p.addWorkload(r, made, strings.Replace(fmt.Sprintf("%s %s/%s", o.Unstructured.GetKind(), o.Unstructured.GetNamespace(), o.Unstructured.GetName()), " /", " ", 1), found)
			}
		}
	}
	for i, r := range p.releases {
		if i == 0 || p.releases[i-1].component != r.component {
			e.Classes = append(e.Classes, classValues(r.component)...)
		}
		for _, line := range rewritten(r, e.Objects) {
			p.warnf("%s: %s", r.Component, line)
		}
	}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		w.Replicas = operators.Scaled(e.Objects, func(o Object) *unstructured.Unstructured { return o.Object }, w.Kind, w.Namespace, w.Name, w.Replicas)
	}
	if err := e.findShared(in.WholeDefinitions); err != nil {
		return err
	}
	if len(e.Workloads) == 0 && (!in.MayBeEmpty || len(e.Objects) == 0) {
		return fmt.Errorf("the recipe %s renders no workload (releases: %d): %w", RecipeName(in.Recipe), len(e.Releases), errEmpty)
	}
	return nil
}

// classValues are the values of a component by whose names they are a StorageClass.
func classValues(c *recipe.Component) (all []ClassValue) {
	for _, keys := range setUnused(c.Values, c.Origins, nil) {
		last, path := keys[len(keys)-1], strings.Join(keys, ".")
		if !strings.EqualFold(last, "storageClassName") && !strings.EqualFold(last, "storageClass") {
			continue
		}
		if class, _, _ := unstructured.NestedString(c.Values, keys...); class != "" {
			all = append(all, ClassValue{c.Name, class, path, c.Origins[path]})
		}
	}
	return all
}

// deliverable refuses an object that a recipe may not deliver.
func deliverable(r *release, o Object) error {
	problem, path := policy.WhyRefused(o.Object)
	if problem == "" {
		return nil
	}
	origin := r.component.Declared
	if at, ok := o.Origin(path...); ok {
		origin = at
	}
	kind, name := o.Object.GetKind(), o.Object.GetName()
	in := manifestline.In(r.chart, o.Template, manifestline.Object{Kind: kind, Name: name}, path...)
	return &ComponentError{Component: r.Component, Origin: origin, Problem: fmt.Sprintf("%s %s (%s) %s; a recipe may not deliver it", kind, name, in, problem)}
}

// findShared warns of objects that two releases own, and adds up and drops the definitions: those
// of what two own are kept, and of all if they are wanted whole.
func (e *Expectation) findShared(whole bool) error {
	var all []ownedObject
	for _, o := range e.Objects {
		all = append(all, o.shared())
		e.DefinitionBytes += len(o.definition)
	}
	isShared, warnings, err := findOwners(all)
	for i := range isShared {
		if !isShared[i] && !whole {
			e.Objects[i].definition = ""
		}
	}
	e.Warnings = append(e.Warnings, warnings...)
	return err
}

// attempt is a rendering, or the error that prevented it.
type attempt struct {
	*rendering.Rendering
	err error
}

func servedBy(objects []rendering.Object) []API {
	var all []API
	for _, o := range objects {
		all = append(all, apis.ServedBy(o.Unstructured)...)
	}
	return all
}

// render renders every release, side by side. A chart sees the APIs that the releases before it
// add, which are known for sure only when those are rendered. So each is rendered as if only the
// crds/ directories before it added some, and once more if that was wrong and its templates can
// tell.
func (p *plan) render(ctx context.Context, with render.Pool, in Input, deployer string, kinds rendering.CustomScopes) ([]*rendering.Rendering, error) {
	n := len(p.releases)
	crds, guesses := make([][]rendering.Object, n), make([]chartutil.VersionSet, n)
	var guessed []API
	err := lists.InOrder(ctx, n, func(_ context.Context, _, i int) ([]rendering.Object, error) {
		found, err := rendering.CRDs(p.releases[i].chart, p.releases[i].values)
		if err != nil {
			return nil, renderError(p.releases[i], err)
		}
		return found, nil
	}, func(i int, found []rendering.Object) error {
		// Helm installs a chart's crds/ before it renders the rest, so a chart sees its own.
		guessed = append(guessed, servedBy(found)...)
		crds[i], guesses[i] = found, seenAPIs(in.APIs, deployer, guessed)
		return nil
	})
	if err != nil {
		return nil, err
	}
	one := func(ctx context.Context, renderer *render.Renderer, i int, seen chartutil.VersionSet) attempt {
		r := p.releases[i]
		request := r.request(r.values, in.KubeVersion, seen)
		request.Post.Look = true
		out, err := rendering.Release(ctx, renderer, request, r.argocd)
		if err != nil && ctx.Err() == nil {
			err = renderError(r, err)
		}
		return attempt{out, err}
	}
	renderings, size := make([]*rendering.Rendering, n), 0
	err = lists.InOrder(ctx, n, func(ctx context.Context, worker, i int) (attempt, error) {
		return one(ctx, with[worker], i, guesses[i]), ctx.Err() // a failure may be due to the guess
	}, func(i int, got attempt) error {
		r := p.releases[i]
		p.added = append(p.added, servedBy(crds[i])...)
		r.apis = seenAPIs(in.APIs, deployer, p.added)
		if !slices.Equal(r.apis, guesses[i]) && apis.Tell(append(templateSources(r.chart), string(r.valuesYAML)), guesses[i], r.apis) {
			if got = one(ctx, with[lists.Workers()], i, r.apis); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if got.err != nil {
			return got.err
		}
		out := got.Rendering
		if size += len(out.Text); size > mostText {
			return renderError(r, &render.LimitError{What: fmt.Sprintf("the charts of the recipe make more than %d MiB of text, up to this one", mostText>>20)})
		}
		p.added = append(p.added, servedBy(out.Objects)...)
		out.Objects = append(crds[i], out.Objects...)
		for _, o := range out.Objects {
			kinds.Add(o.Unstructured)
		}
		renderings[i] = out
		return nil
	})
	return renderings, err
}

func (p *plan) addWorkload(r *release, o Object, operator string, found traces) {
	w, ok, warning := workloadOf(o)
	if !ok {
		return
	}
	w.Operator = operator
	w.Built = r.component.Kustomization.Of(w.Kind, w.Namespace, w.Name)
	if warning != "" {
		p.warnf("%s", warning)
	}
	if warning := found.apply(&w); warning != "" {
		p.warnf("%s", warning)
	}
	p.expectation.Workloads = append(p.expectation.Workloads, w)
}

// traced is what following the scheduling paths of one component gave.
type traced struct {
	found  traces
	paths  []*tracedPath
	charts []string
	failed error
}

// trace follows every component's scheduling paths. A component whose traced rendering fails (a
// chart that validates its values, say) goes without, and says so.
func (p *plan) trace(ctx context.Context, in Input, with render.Pool, kinds rendering.CustomScopes) (traces, error) {
	var groups [][]*release // by component
	for i, r := range p.releases {
		if i == 0 || p.releases[i-1].component != r.component {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
	}
	found := traces{}
	err := lists.InOrder(ctx, len(groups), func(ctx context.Context, worker, i int) (traced, error) {
		return traceComponent(ctx, in, with[worker], groups[i], kinds)
	}, func(i int, t traced) error {
		c, charts := groups[i][0].component, strings.Join(t.charts, " and ")
		for key, paths := range t.found {
			found[key] = append(found[key], paths...)
		}
		if t.failed != nil {
			p.warnf("%s: the scheduling paths could not be followed through chart %s, so its workloads are judged by their own node selectors: %v", c.Name, charts, t.failed)
			return nil
		}
		p.warnUnreached(c, charts, t.paths)
		return nil
	})
	return found, err
}

// warnUnreached says which scheduling paths of a component lead nowhere, in one warning: they are one
// finding about its entry in the registry.
func (p *plan) warnUnreached(c *recipe.Component, charts string, paths []*tracedPath) {
	if c.Registered.File != "" {
		charts += "; " + c.Registered.String() + " has the component's paths"
	}
	var unreached []string
	for _, path := range paths {
		if !path.reached {
			unreached = append(unreached, fmt.Sprintf("%s (%s)", path.path, joinKinds(path.nodes)))
		}
	}
	switch len(unreached) {
	case 0:
	case 1:
		p.warnf("%s: scheduling path %s reaches no object of chart %s", c.Name, unreached[0], charts)
	default:
		p.warnf("%s: scheduling paths %s reach no object of chart %s", c.Name, strings.Join(unreached, ", "), charts)
	}
}

func traceComponent(ctx context.Context, in Input, renderer *render.Renderer, releases []*release, kinds rendering.CustomScopes) (traced, error) {
	t := newTracer(releases[0].component)
	out := traced{found: traces{}, paths: t.paths}
	for _, r := range releases {
		out.charts = append(out.charts, r.Chart+" "+r.ChartVersion)
		if out.failed == nil {
			out.failed = t.follow(ctx, renderer, r, kinds, in.KubeVersion, r.apis, out.found)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if limit := (*render.LimitError)(nil); errors.As(out.failed, &limit) {
			return out, renderError(r, out.failed) // each may take minutes
		}
	}
	return out, nil
}

func joinKinds(kinds []NodeKind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return strings.Join(out, " and ")
}

func renderError(r *release, err error) error {
	e := &RenderError{Component: r.Component, Release: r.Name, Chart: r.Chart, Version: r.ChartVersion, Origin: r.component.Declared, ValuesFile: r.component.ValuesFile, Err: err}
	if r.Local {
		r.placeInManifest(e)
	} else if at, path := valueIn(r.component, err.Error()); path != "" {
		e.Origin, e.Value = at, path
	} else if te := (*rendering.TemplateError)(nil); errors.As(err, &te) {
		e.Err = te.In(r.chart)
	}
	if looksUp(r.chart, err.Error()) {
		e.Err = inOtherWords(e.Err.Error()+"; templates are rendered without a cluster, as Argo CD renders them, so that lookup finds nothing: set a value with which the template does not look it up, or let the template go on without it", e.Err)
	}
	return e
}
