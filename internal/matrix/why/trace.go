package why

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// traceMost bounds how many workloads are traced: one finding is read first, and a value often
// decides for all of them.
const traceMost = 4

// TraceValues writes to the workloads of a report the values of the recipe that decide what is
// wrong with them, whatever the values are called. A rendering marks only values with usual names;
// this leaves out one after the other, which takes some twenty renderings.
func TraceValues(ctx context.Context, in bundle.Input, deployer string, r *observe.WorkloadReport, view *observe.View) {
	ctx, cancel := context.WithTimeout(ctx, fieldBudget)
	defer cancel()
	asked := map[*bundle.Workload][]traced{}
	var order []*bundle.Workload
	ask := func(w *bundle.Workload, all []traced) {
		if _, ok := asked[w]; !ok && len(all) > 0 && w.Built == nil && len(order) < traceMost {
			order = append(order, w)
			asked[w] = all
		}
	}
	for i := range r.Pending {
		p := &r.Pending[i]
		e := explainPods([]observe.PodFacts{p.PodFacts}, p.Workload, view)
		ask(p.Workload, tracedOf(&e, p.Workload))
	}
	for _, w := range r.Wrong {
		var all []traced
		for _, f := range w.Fields {
			field, key, _ := strings.Cut(f, "/")
			all = append(all, traced{field, key})
		}
		if w.Template || overdue(&w) {
			e := explainTemplate(w.Workload, view)
			all = append(all, tracedOf(&e, w.Workload)...)
		}
		ask(w.Workload, all)
	}
	for _, w := range order {
		i := slices.IndexFunc(in.Components, func(c recipe.Component) bool { return c.Name == w.Component })
		if i < 0 || w.Operator != "" {
			continue
		}
		traceWorkload(ctx, in, deployer, &in.Components[i], w, asked[w])
	}
}

// traced is a field of a workload whose value is looked for.
type traced struct{ field, key string }

// tracedOf returns the fields behind the refusals of the nearest nodes of which no value is known.
func tracedOf(e *Explanation, w *bundle.Workload) []traced {
	var all []traced
	p := &provenance{w: w}
	for _, g := range e.nearest(w) {
		for i := range g.Refusals {
			r := &g.Refusals[i]
			var f traced
			switch r.Kind {
			case refusalNodeSelector:
				f = traced{bundle.FieldNodeSelector, r.Key}
				if len(p.selectorPaths(r.Key)) > 0 {
					continue
				}
			case refusalNodeAffinity:
				f = traced{bundle.FieldAffinity, ""}
			case refusalNodeName:
				f = traced{bundle.FieldNodeName, ""}
			case refusalResource:
				f = traced{bundle.FieldRequests, r.Key}
				if len(p.resourceValues(r.Key)) > 0 {
					continue
				}
			default:
				continue
			}
			if len(p.values(f.field, f.key)) == 0 && !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

func traceWorkload(ctx context.Context, in bundle.Input, deployer string, c *recipe.Component, w *bundle.Workload, fields []traced) {
	objects, err := in.Rerender(ctx, deployer, c.Name, func(map[string]any) {})
	if err != nil {
		return
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == w.Kind && o.GetName() == w.Name && (o.GetNamespace() == w.Namespace || o.GetNamespace() == "")
	})
	if i < 0 {
		return
	}
	for _, f := range fields {
		s := fieldSearch{ctx: ctx, in: in, deployer: deployer, component: c, target: objects[i], read: func(o *unstructured.Unstructured) (any, bool) { return read(o, f) }}
		s.field.path = append(strings.Split(f.field, "."), f.key)
		if f.field == observe.FieldResources && f.key != "" {
			kind, name := resourceOf(f.key)
			s.field.path = []string{f.field, kind, name}
		}
		var found bool
		if s.value, found = s.read(s.target); !found {
			continue
		}
		path, ok := s.among()
		if !ok {
			path, ok = s.amongDefaults()
		}
		if ok {
			source := s.source(path)
			source.Field, source.Key = f.field, f.key
			if slices.Contains([]string{bundle.FieldNodeSelector, bundle.FieldNodeName, bundle.FieldAffinity}, f.field) {
				source.KeyStays, source.ValueStays = s.fixed(path)
			}
			if !slices.Contains(w.Values, source) {
				w.Values = append(w.Values, source)
			}
		}
	}
}

// read returns the part of a workload that a field stands for; false without one.
func read(o *unstructured.Unstructured, f traced) (any, bool) {
	if rest, ok := strings.CutPrefix(f.field, "spec."); ok {
		return valueAt(o.Object["spec"], strings.Split(rest, "."))
	}
	spec, ok := podspec.Of(o)
	if !ok {
		return nil, false
	}
	switch f.field {
	case bundle.FieldRequests:
		return ofContainers(spec, func(c map[string]any) any {
			resources, _ := c["resources"].(map[string]any)
			requests, _ := valueAt(resources, []string{"requests", f.key})
			limits, _ := valueAt(resources, []string{"limits", f.key})
			return []any{requests, limits}
		}), true
	case observe.FieldResources:
		return ofContainers(spec, func(c map[string]any) any {
			if resources, _ := c["resources"].(map[string]any); f.key != "" {
				kind, name := resourceOf(f.key)
				value, found := valueAt(resources, []string{kind, name})
				if !found { // a limit alone is the request too
					value, _ = valueAt(resources, []string{"limits", name})
				}
				return value
			}
			return c["resources"]
		}), true
	case observe.FieldSecurityContext:
		host := []any{spec["hostNetwork"], spec["hostPID"], spec["hostIPC"], spec["volumes"]}
		return append(ofContainers(spec, func(c map[string]any) any { return []any{c["securityContext"], c["ports"]} }), host...), true
	case bundle.FieldNodeSelector:
		return valueAt(spec, []string{bundle.FieldNodeSelector, f.key})
	}
	v, ok := spec[f.field]
	return v, ok
}

// ofContainers reads each container and the pod itself, which may have the same fields.
func ofContainers(spec map[string]any, of func(map[string]any) any) []any {
	all := []any{of(spec)}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			m, _ := c.(map[string]any)
			all = append(all, of(m))
		}
	}
	return all
}

// decidedBy returns the values and files behind what is wrong with a workload, and the first place to
// open.
func decidedBy(w *observe.WrongWorkload) ([]string, result.Place) {
	lines, p := slices.Clone(w.More), &provenance{w: w.Workload}
	var places []source
	for _, f := range w.Fields {
		f, key, _ := strings.Cut(f, "/")
		values := p.values(f, key)
		for _, v := range values {
			lines = append(lines, fmt.Sprintf("%s: %s", f, setText(v)))
			places = append(places, source{result.Place{File: v.Origin.File, Line: v.Origin.Line, Path: v.Path}, true})
		}
		if at, ok := originOf(w.Workload, f, key); ok && len(values) == 0 {
			lines = append(lines, fmt.Sprintf("%s: set in %s", f, at))
			places = append(places, source{result.Place{File: at.File, Line: at.Line}, true})
		} else if len(values) == 0 && w.Workload.Template != "" {
			lines = append(lines, fmt.Sprintf("%s: set in %s", f, inTemplate(w.Workload, f, key)))
		}
	}
	return lines, placeOf(places)
}

// originOf is the line of a manifest that has a field: of the workload, of its pods, or of the first
// container that has it.
func originOf(w *bundle.Workload, field, key string) (recipe.Origin, bool) {
	if strings.HasPrefix(field, "spec.") {
		return bundle.Object{Manifest: w.Manifest, Object: named(w)}.Origin(strings.Split(field, ".")...)
	}
	return w.Origin(inPod(w, field, key)...)
}

// inTemplate is originOf for the template of a chart.
func inTemplate(w *bundle.Workload, field, key string) string {
	if strings.HasPrefix(field, "spec.") {
		return manifestline.In(w.Chart, w.Template, manifestline.Object{Kind: w.Kind, Name: w.Name}, strings.Split(field, ".")...)
	}
	return w.In(inPod(w, field, key)...)
}

// inPod is where a pod template has a field.
func inPod(w *bundle.Workload, field, key string) []string {
	switch {
	case key != "":
		_, name := resourceOf(key)
		return (&provenance{w: w}).resourceField(name)
	case field == observe.FieldResources:
		return []string{"spec", "containers", "0", field}
	}
	return []string{"spec", field}
}

func named(w *bundle.Workload) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetKind(w.Kind)
	o.SetName(w.Name)
	return o
}

// resourceOf splits limits.memory, as a quota has it; requests.memory is memory too.
func resourceOf(key string) (kind, name string) {
	if name, ok := strings.CutPrefix(key, "limits."); ok {
		return "limits", name
	}
	return "requests", strings.TrimPrefix(key, "requests.")
}
