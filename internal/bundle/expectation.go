package bundle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/scopes"
	"github.com/nvidia/aicr-action/internal/helmrender"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// mostText is all that the charts of a recipe may render together, in bytes. Those of the largest recipes make 10 MiB.
const mostText = 64 << 20

// expect renders every release as the deployer has it rendered, and writes down what the cluster must contain.
func (p *plan) expect(ctx context.Context, in Input, deployer string) error {
	renderer := &helmrender.Renderer{}
	defer renderer.Close()
	kinds := scopes.Custom{}
	renderings, size := make([]*rendering, len(p.releases)), 0
	for i, r := range p.releases {
		crds, err := crdsOf(r.chart, r.values)
		if err != nil {
			return renderError(r, err)
		}
		// Helm installs a chart's crds/ before it renders the rest, so a chart sees its own.
		for _, o := range crds {
			p.added = append(p.added, apis.ServedBy(o.object)...)
		}
		r.apis = seenAPIs(in.APIs, deployer, p.added)
		out, err := render(ctx, renderer, r, r.values, in.KubeVersion, r.apis)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return renderError(r, err)
		}
		if size += len(out.text); size > mostText {
			return renderError(r, &helmrender.LimitError{What: fmt.Sprintf("the charts of the recipe make more than %d MiB of text, up to this one", mostText>>20)})
		}
		out.objects = append(crds, out.objects...)
		for _, o := range out.objects {
			kinds.Add(o.object)
		}
		for _, o := range out.objects[len(crds):] {
			p.added = append(p.added, apis.ServedBy(o.object)...)
		}
		renderings[i] = out
	}

	found, err := p.trace(ctx, in, renderer, kinds)
	if err != nil {
		return err
	}
	e := &p.expectation
	for i, r := range p.releases {
		e.Releases = append(e.Releases, r.Release)
		for _, o := range renderings[i].objects {
			kinds.FillNamespace(o.object, r.Namespace)
			object := Object{Component: r.Component, Release: r.Name, Template: o.template, Hook: o.hook, Ephemeral: o.ephemeral, Object: o.object}
			e.Objects = append(e.Objects, object)
			p.addWorkload(r, object, "", found)
			for _, made := range synthesized(object, r.Namespace) {
				e.Made = append(e.Made, made)
				p.addWorkload(r, made, strings.Replace(fmt.Sprintf("%s %s/%s", o.object.GetKind(), o.object.GetNamespace(), o.object.GetName()), " /", " ", 1), found)
			}
		}
	}
	e.Warnings = append(e.Warnings, sharedObjects(e.Objects)...)
	if len(e.Workloads) == 0 {
		return fmt.Errorf("recipe %s renders no workload (releases: %d): %w", RecipeName(in.Recipe), len(e.Releases), ErrEmpty)
	}
	return nil
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

// trace follows every component's scheduling paths. A component whose traced rendering fails (a chart that validates its
// values, say) goes without, and says so.
func (p *plan) trace(ctx context.Context, in Input, renderer *helmrender.Renderer, kinds scopes.Custom) (traces, error) {
	found := traces{}
	for i := 0; i < len(p.releases); {
		c := p.releases[i].component
		t := newTracer(c)
		var failed error
		var charts []string
		for ; i < len(p.releases) && p.releases[i].component == c; i++ {
			r := p.releases[i]
			charts = append(charts, r.Chart+" "+r.ChartVersion)
			if failed == nil {
				failed = t.follow(ctx, renderer, r, kinds, in.KubeVersion, r.apis, found)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if limit := (*helmrender.LimitError)(nil); errors.As(failed, &limit) {
				return nil, renderError(r, failed) // each may take minutes
			}
		}
		if failed != nil {
			p.warnf("%s: the scheduling paths could not be followed through chart %s, so its workloads are judged by their own node selectors: %v", c.Name, strings.Join(charts, " and "), failed)
			continue
		}
		for _, path := range t.paths {
			if !path.reached {
				p.warnf("%s: scheduling path %s (%s) reaches no object of chart %s", c.Name, path.path, joinKinds(path.nodes), strings.Join(charts, " and "))
			}
		}
	}
	return found, nil
}

func joinKinds(kinds []NodeKind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return strings.Join(out, " and ")
}

// sharedObjects names the objects that two releases own, one line per pair of releases, and those that one makes twice. Argo CD flips an object
// of two releases between its owners for ever, and Helm refuses the second release or deletes the first one's object with it.
func sharedObjects(objects []Object) []string {
	type pair struct{ a, b string }
	owner := map[string]Object{}
	shared := map[pair][]string{}
	var order []pair
	var out []string
	for _, o := range objects {
		gk := o.Object.GroupVersionKind().GroupKind()
		key := gk.String() + "/" + o.Object.GetNamespace() + "/" + o.Object.GetName()
		first, ok := owner[key]
		if !ok {
			owner[key] = o
			continue
		}
		name := o.Object.GetName()
		if ns := o.Object.GetNamespace(); ns != "" {
			name = ns + "/" + name
		}
		if first.Release == o.Release && (first.Hook || o.Hook) {
			continue // a hook may be made again: the deployer removes the one before
		}
		if first.Release == o.Release {
			out = append(out, fmt.Sprintf("%s makes %s %s twice: Argo CD keeps the last one, and Helm and Flux reject the chart", o.Release, gk.Kind, name))
			continue
		}
		at := pair{first.Release, o.Release}
		if shared[at] == nil {
			order = append(order, at)
		}
		shared[at] = append(shared[at], gk.Kind+" "+name)
	}
	for _, at := range order {
		out = append(out, fmt.Sprintf("%s and %s both own %s", at.a, at.b, strings.Join(sortedUnique(shared[at]), ", ")))
	}
	return out
}

func renderError(r *release, err error) error {
	e := &RenderError{Component: r.Component, Release: r.Name, Chart: r.Chart, Version: r.ChartVersion, Origin: r.component.Declared, ValuesFile: r.component.ValuesFile, Err: err}
	var te *templateError
	if r.Local && errors.As(err, &te) {
		e.Err = fmt.Errorf("%s: %w", manifestOf(r.component, te.template), te.err)
	}
	return e
}

// manifestOf names the recipe's file that a local chart's template was made of.
func manifestOf(c *recipe.Component, template string) string {
	for _, m := range c.Manifests {
		if strings.HasSuffix(template, "/"+m.Path[strings.LastIndex(m.Path, "/")+1:]) {
			return m.Path
		}
	}
	return template
}
