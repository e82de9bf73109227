package bundle

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// tracedPath is a scheduling path with the placeholder key that stands for it in the traced
// rendering.
type tracedPath struct {
	path       string
	toleration bool
	key        string
	nodes      []NodeKind // one, or both if the registry names the path for both kinds
	origin     recipe.Origin
	set        bool
	reached    bool            // or on a part of the chart that is switched off
	value      *SteeringSource // not a path of the registry but a value of the recipe
}

// tracer finds out which scheduling path reaches which workload. It renders a component's charts a
// second time with a placeholder at every path, and finds the placeholders in the pods, because a
// template's text does not show what it does with a value.
type tracer struct {
	component *recipe.Component
	paths     []*tracedPath
	values    []*steeringValue
}

func newTracer(c *recipe.Component) *tracer {
	t := &tracer{component: c, values: steeringValues(c)}
	add := func(path string, toleration bool, node NodeKind) {
		for _, p := range t.paths {
			if p.path == path && p.toleration == toleration {
				if p.nodes[len(p.nodes)-1] != node {
					p.nodes = append(p.nodes, node)
				}
				return
			}
		}
		letter := "p"
		if toleration {
			letter = "t"
		}
		t.paths = append(t.paths, &tracedPath{
			path: path, toleration: toleration, nodes: []NodeKind{node}, origin: originOf(c, path), set: setByRecipe(c, path),
			key: fmt.Sprintf("%s%s%03d", steeringPrefix, letter, len(t.paths)),
		})
	}
	for _, k := range schedulingOf(c, Scheduling{}) {
		for _, path := range k.paths.NodeSelectorPaths {
			add(path, false, k.node)
		}
		for _, path := range k.paths.TolerationPaths {
			add(path, true, k.node)
		}
	}
	return t
}

// mark puts the keys into values, beside what is there.
func (t *tracer) mark(values map[string]any) error {
	for _, p := range t.paths {
		v, _ := at(values, p.path)
		var marked any
		if p.toleration {
			list, _ := v.([]any)
			marked = append(list[:len(list):len(list)], map[string]any{"key": p.key, "operator": "Exists"})
		} else {
			m, ok := v.(map[string]any)
			if !ok {
				m = map[string]any{}
			}
			m[p.key] = "x"
			marked = m
		}
		if err := put(values, p.path, marked); err != nil {
			return err
		}
	}
	return nil
}

// traces maps workloads to the paths that reach them.
type traces map[string][]*tracedPath

func workloadKey(obj *unstructured.Unstructured) string {
	return obj.GetKind() + "/" + obj.GetNamespace() + "/" + obj.GetName()
}

// follow renders a release with the keys in place and records what they reach.
func (t *tracer) follow(ctx context.Context, renderer *render.Renderer, r *release, kinds rendering.CustomScopes, kubeVersion string, apiVersions chartutil.VersionSet, into traces) error {
	if len(t.paths) == 0 && len(t.values) == 0 {
		return nil
	}
	out, err := t.render(ctx, renderer, r, t.values, kubeVersion, apiVersions)
	marked := t.values
	if err != nil && len(t.values) > 0 && ctx.Err() == nil {
		// A chart may check a quantity or a label's value. The paths matter more: they decide what
		// the gate expects.
		marked = nil
		out, err = t.render(ctx, renderer, r, nil, kubeVersion, apiVersions)
	}
	if err != nil {
		return err
	}
	_, own := r.ownValues()
	for _, p := range t.paths {
		p.reached = p.reached || strings.Contains(out.Text, p.key) || steeringOff(p.path, own, r.defaults())
	}
	for _, o := range out.Objects {
		kinds.FillNamespace(o.Unstructured, r.Namespace)
		objects := []Object{{Object: o.Unstructured}}
		objects = append(objects, synthesized(objects[0], r.Namespace)...)
		for _, o := range objects {
			spec, ok := podspec.Of(o.Object)
			if !ok {
				continue
			}
			text, err := json.Marshal(spec)
			if err != nil {
				return err
			}
			key := workloadKey(o.Object)
			for _, p := range t.paths {
				if strings.Contains(string(text), p.key) {
					into[key] = append(into[key], p)
				}
			}
			for _, v := range marked {
				for _, source := range v.FoundIn(spec) {
					into[key] = append(into[key], &tracedPath{value: &source})
				}
			}
		}
	}
	return nil
}

// render renders a release with the keys of all paths, and the marks of these values, in place.
func (t *tracer) render(ctx context.Context, renderer *render.Renderer, r *release, marks []*steeringValue, kubeVersion string, apiVersions chartutil.VersionSet) (*rendering.Rendering, error) {
	values, marked := r.ownValues()
	for _, v := range marks {
		v.Put(marked)
	}
	if err := t.mark(marked); err != nil {
		return nil, err
	}
	return rendering.Release(ctx, renderer, r.request(values, kubeVersion, apiVersions), r.argocd)
}

// ownValues copies the values that a release is rendered with, and gives the part of them that is
// the component's: a local chart has its own values in values.yaml, under the component's name.
func (r *release) ownValues() (all, own map[string]any) {
	if all = copyMap(r.values); r.Given.Whole {
		all = copyMap(r.chart.Values)
	}
	if !r.Local || r.Given.Whole {
		return all, all
	}
	key := r.ValuesKey()
	given, _ := r.chart.Values[key].(map[string]any)
	own = copyMap(given)
	return map[string]any{key: own}, own
}

// defaults are those of the chart that has the component's values, which another one may carry along.
func (r *release) defaults() map[string]any {
	for _, d := range r.chart.Dependencies() {
		if r.Local && d.Name() == r.ValuesKey() {
			return d.Values
		}
	}
	return r.chart.Values
}

// Defaults are the default values of a component's chart.
func (in Input) Defaults(ctx context.Context, deployer, component string) (map[string]any, error) {
	p, err := planOf(ctx, in, deployer)
	if err != nil {
		return nil, err
	}
	for _, r := range p.releases {
		if r.Component == component && r.chart != nil && (!r.Local || r.Carried != "" || r.Given.Whole) {
			return r.defaults(), nil
		}
	}
	return nil, nil
}

// Rerender renders the releases of one component again, as this deployer's lane does, with values
// that change may alter. It talks to nothing.
func (in Input) Rerender(ctx context.Context, deployer, component string, change func(values map[string]any)) ([]*unstructured.Unstructured, error) {
	p, err := planOf(ctx, in, deployer)
	if err != nil {
		return nil, err
	}
	renderer := &render.Renderer{}
	defer renderer.Close()
	var objects []*unstructured.Unstructured
	for _, r := range p.releases {
		if r.Component != component {
			continue
		}
		out, err := r.again(ctx, renderer, in.KubeVersion, change)
		if err != nil {
			return nil, err
		}
		for _, o := range out.Objects {
			objects = append(objects, o.Unstructured)
		}
	}
	return objects, nil
}

// again renders a release with values that change may alter.
func (r *release) again(ctx context.Context, renderer *render.Renderer, kubeVersion string, change func(own map[string]any)) (*rendering.Rendering, error) {
	values, own := r.ownValues()
	change(own)
	with := *r
	if r.Local { // what is left out must not come back as the chart's default
		with.chart = archive.Clone(r.chart)
		with.chart.Values = values
	}
	return rendering.Release(ctx, renderer, with.request(values, kubeVersion, r.apis), r.argocd)
}

// apply writes what was learnt to a workload. Its warning, if any, names two kinds of paths that
// contradict each other.
func (ts traces) apply(w *Workload) (warning string) {
	kinds := map[NodeKind]string{}
	for _, p := range ts[w.Kind+"/"+w.Namespace+"/"+w.Name] {
		if p.value != nil {
			w.Values = append(w.Values, *p.value)
			continue
		}
		for _, node := range p.nodes {
			vp := ValuePath{Path: p.path, Node: node, Origin: p.origin, Set: p.set}
			if p.toleration {
				w.TolerationPaths = append(w.TolerationPaths, vp)
				continue
			}
			w.SelectorPaths = append(w.SelectorPaths, vp)
			if _, ok := kinds[node]; !ok {
				kinds[node] = p.path
			}
		}
	}
	switch len(kinds) {
	case 0:
		// A manifest may name the node type itself, without a value.
		if kind := NodeKindOf(w.PodSpec.NodeSelector); kind != NodeAny {
			w.Node = kind
		}
	case 1:
		for kind := range kinds {
			w.Node = kind
		}
	default:
		return fmt.Sprintf("%s: %s %s/%s is steered to system nodes by %s and to accelerated nodes by %s: either is accepted",
			w.Component, w.Kind, w.Namespace, w.Name, kinds[NodeSystem], kinds[NodeAccelerated])
	}
	return ""
}
