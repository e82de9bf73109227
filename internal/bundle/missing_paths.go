package bundle

// missing_paths.go finds the value paths of charts that are missing in a registry of recipes:
// those that would make workloads tolerate the taint of every node, where no other path does. It
// knows bundles, and renders one a second time. It must not know clusters.

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// MarkMissingPaths writes ForgottenPaths into those workloads of a bundle that no path of the registry gives
// tolerations, and that no node admits without them. Without such a workload it renders nothing. In
// is the input that the deployer made the bundle of. The bundle is valid without what Mark finds,
// so a chart that does not render with further values is no error. Mark returns only the context's
// error.
func MarkMissingPaths(ctx context.Context, d Deployer, in Input, b *Bundle) error {
	lacking := map[string]bool{} // components
	for i := range b.Expectation.Workloads {
		if w := &b.Expectation.Workloads[i]; lacks(w, in.Scheduling.SystemTolerations) {
			lacking[w.Component] = true
		}
	}
	added := map[string][]string{} // paths, by component
	in.Components = slices.Clone(in.Components)
	for i := range in.Components {
		c := &in.Components[i]
		if !lacking[c.Name] {
			continue
		}
		known := slices.Concat(c.NodeScheduling.System.TolerationPaths, c.NodeScheduling.Accelerated.TolerationPaths)
		for _, path := range candidates(c, b) {
			if !slices.Contains(known, path) {
				added[c.Name] = append(added[c.Name], path)
			}
		}
		c.NodeScheduling.System.TolerationPaths = slices.Concat(c.NodeScheduling.System.TolerationPaths, added[c.Name])
	}
	if len(added) == 0 {
		return nil
	}
	in, err := Prepare(ctx, in)
	if err != nil {
		return ctx.Err()
	}
	with, err := d.Bundle(ctx, in)
	if err != nil {
		return ctx.Err()
	}
	origin := map[string]recipe.Origin{}
	for i := range in.Components {
		origin[in.Components[i].Name] = in.Components[i].Registered
	}
	reached := map[[4]string][]ValuePath{}
	for i := range with.Expectation.Workloads {
		w := &with.Expectation.Workloads[i]
		reached[key(w)] = w.TolerationPaths
	}
	for i := range b.Expectation.Workloads {
		w := &b.Expectation.Workloads[i]
		if !lacks(w, in.Scheduling.SystemTolerations) {
			continue
		}
		for _, vp := range reached[key(w)] {
			if slices.Contains(added[w.Component], vp.Path) {
				w.ForgottenPaths = append(w.ForgottenPaths, ValuePath{Path: vp.Path, Node: w.Node, Origin: origin[w.Component]})
			}
		}
	}
	return nil
}

func key(w *Workload) [4]string { return [4]string{w.Component, w.Kind, w.Namespace, w.Name} }

// lacks reports whether the pod has not all tolerations that every pod on simulated nodes needs,
// and no path of the registry could add them.
func lacks(w *Workload, needed []corev1.Toleration) bool {
	if len(w.TolerationPaths) > 0 {
		return false
	}
	return slices.ContainsFunc(needed, func(t corev1.Toleration) bool {
		taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
		return !corev1helpers.TolerationsTolerateTaint(klog.Logger{}, w.PodSpec.Tolerations, &taint, false)
	})
}

// candidates are the paths of a component's values whose name ends in tolerations: those that have
// a value in the recipe or the chart, and those that templates read according to their text. Only
// the rendering shows whether a path adds any toleration. They are sorted.
func candidates(c *recipe.Component, b *Bundle) []string {
	found := map[string]bool{}
	walk(c.Values, "", found)
	all := []map[string]any{c.Values}
	for i := range b.Installs {
		inst := &b.Installs[i]
		if inst.Release.Component != c.Name {
			continue
		}
		read(inst.Chart, "", found)
		if inst.Release.Local { // its values are the component's
			continue
		}
		values, err := chartutil.CoalesceValues(archive.Clone(inst.Chart), document.CopyValue(inst.Values).(map[string]any))
		if err == nil {
			walk(values, "", found)
			all = append(all, values)
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(path string) bool {
		return slices.ContainsFunc(all, func(values map[string]any) bool { return !settable(values, path) })
	})
}

func walk(values map[string]any, above string, found map[string]bool) {
	for key, value := range values {
		if m, ok := mapOf(value); ok {
			walk(m, above+key+".", found)
		} else if !strings.Contains(key, ".") && strings.HasSuffix(strings.ToLower(key), "tolerations") {
			found[above+key] = true
		}
	}
}

// reference is a value in a template: .Values.webhook.tolerations, or $own.tolerations of a
// variable that has the values.
var reference = regexp.MustCompile(`\.(?:Values\.)?((?:\w+\.)*\w*[tT]olerations)\b`)

// read finds what the templates of a chart read, and those of its subcharts, whose values are below
// their names.
func read(ch *chart.Chart, above string, found map[string]bool) {
	for _, file := range ch.Templates {
		for _, m := range reference.FindAllSubmatch(file.Data, -1) {
			found[above+string(m[1])] = true
		}
	}
	for _, sub := range ch.Dependencies() {
		read(sub, above+sub.Name()+".", found)
	}
}

// settable: the path leads through maps only, and to a list or nothing.
func settable(values map[string]any, path string) bool {
	key, rest, deeper := strings.Cut(path, ".")
	value := values[key]
	if value == nil {
		return true
	}
	if deeper {
		m, ok := mapOf(value)
		return ok && settable(m, rest)
	}
	_, ok := value.([]any)
	return ok
}

func mapOf(value any) (map[string]any, bool) {
	switch v := value.(type) {
	case map[string]any:
		return v, true
	case chartutil.Values:
		return v, true
	}
	return nil, false
}
