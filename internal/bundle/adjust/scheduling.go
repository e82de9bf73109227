// Package adjust changes what a bundle is made of as its caller asks: node selectors, tolerations,
// the number of nodes and single values of components. It knows the notation of the flags, and
// which components the registry names for them. It must not know deployers or charts.
package adjust

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// ParseSelector reads the values of a node selector flag: KEY=VALUE, or several with commas between
// them.
func ParseSelector(values ...string) (map[string]string, error) {
	return parseLabels("node selector", "node", values)
}

// ParsePodSelector is ParseSelector for labels of pods.
func ParsePodSelector(values ...string) (map[string]string, error) {
	return parseLabels("pod selector", "pod", values)
}

func parseLabels(what, of string, values []string) (map[string]string, error) {
	out := map[string]string{}
	for _, part := range split(values) {
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%s %q is not KEY=VALUE", what, part)
		}
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
			return nil, fmt.Errorf("%s %q is no %s label: %s", what, part, of, strings.Join(problems, "; "))
		}
		if old, ok := out[key]; ok && old != value {
			return nil, fmt.Errorf("%s %s is given twice, as %s and %s", what, key, old, value)
		}
		out[key] = value
	}
	return out, nil
}

// ParseTolerations reads the values of a toleration flag: KEY=VALUE:EFFECT or KEY:EFFECT (any
// value), or several with commas between them. An EFFECT is NoSchedule, PreferNoSchedule or
// NoExecute. One that is given twice counts once.
func ParseTolerations(values ...string) ([]corev1.Toleration, error) {
	var out []corev1.Toleration
	for _, part := range split(values) {
		if part == "*" {
			out = append(out, EveryTaint())
			continue
		}
		rest, effect, ok := strings.Cut(part, ":")
		key, value, hasValue := strings.Cut(rest, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("toleration %q is not KEY=VALUE:EFFECT or KEY:EFFECT", part)
		}
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
			return nil, fmt.Errorf("toleration %q is of no taint: %s", part, strings.Join(problems, "; "))
		}
		t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
		if hasValue {
			t.Operator, t.Value = corev1.TolerationOpEqual, value
		}
		switch t.Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		default:
			return nil, fmt.Errorf("toleration %q: effect %q is none of NoSchedule, PreferNoSchedule, NoExecute", part, effect)
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out, nil
}

// EveryTaint is the toleration of every taint, which AICR's own CLI gives all components if it is told
// no other.
func EveryTaint() corev1.Toleration { return corev1.Toleration{Operator: corev1.TolerationOpExists} }

// split splits each value at commas and drops what is empty.
func split(values []string) []string {
	var out []string
	for _, part := range strings.Split(strings.Join(values, ","), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// DescribeScheduling describes the injected scheduling for people: a line for each kind of node
// that has any, or one line that says that there is none. The bundle has it at the value paths that
// the registry names for its components.
func DescribeScheduling(s bundle.Scheduling) []string {
	var lines []string
	for _, kind := range []struct {
		node        bundle.NodeKind
		selector    map[string]string
		tolerations []corev1.Toleration
	}{{bundle.NodeSystem, s.SystemNodeSelector, s.SystemTolerations}, {bundle.NodeAccelerated, s.AcceleratedNodeSelector, s.AcceleratedTolerations}} {
		var parts []string
		if len(kind.selector) > 0 {
			var labels []string
			for _, key := range slices.Sorted(maps.Keys(kind.selector)) {
				labels = append(labels, key+"="+kind.selector[key])
			}
			parts = append(parts, "nodeSelector "+strings.Join(labels, ","))
		}
		if len(kind.tolerations) > 0 {
			var taints []string
			for _, t := range kind.tolerations {
				taints = append(taints, bundle.FormatToleration(t))
			}
			parts = append(parts, "tolerations "+strings.Join(taints, ","))
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("injected scheduling for %s components: %s", kind.node, strings.Join(parts, "; ")))
		}
	}
	if len(lines) == 0 {
		return []string{"injected scheduling: none; the bundle has what the recipe sets"}
	}
	return lines
}

// WithoutEffect names the parts of a scheduling that no component has a value path for, so that
// they go nowhere.
func WithoutEffect(components []recipe.Component, s bundle.Scheduling) []string {
	has := func(paths func(recipe.NodeScheduling) []string) bool {
		return slices.ContainsFunc(components, func(c recipe.Component) bool { return len(paths(c.NodeScheduling)) > 0 })
	}
	var idle []string
	for _, part := range []struct {
		what  string
		given bool
		paths func(recipe.NodeScheduling) []string
	}{
		{"node selector for system components", len(s.SystemNodeSelector) > 0, func(n recipe.NodeScheduling) []string { return n.System.NodeSelectorPaths }},
		{"toleration for system components", len(s.SystemTolerations) > 0, func(n recipe.NodeScheduling) []string {
			return slices.Concat(n.System.TolerationPaths, n.System.TaintStrPaths)
		}},
		{"node selector for accelerated components", len(s.AcceleratedNodeSelector) > 0, func(n recipe.NodeScheduling) []string { return n.Accelerated.NodeSelectorPaths }},
		{"toleration for accelerated components", len(s.AcceleratedTolerations) > 0, func(n recipe.NodeScheduling) []string {
			return slices.Concat(n.Accelerated.TolerationPaths, n.Accelerated.TaintStrPaths)
		}},
	} {
		if part.given && !has(part.paths) {
			idle = append(idle, fmt.Sprintf("the %s has no effect: the registry names no value path for it in a component of this recipe", part.what))
		}
	}
	return idle
}

// Nodes puts the number of GPU nodes at the value paths that the registry names for it, and says
// where.
func Nodes(components []recipe.Component, n int) (lines []string, err error) {
	for i := range components {
		c := &components[i]
		for _, path := range lists.Unique(c.NodeScheduling.NodeCountPaths) {
			if err := put(c, path, int64(n), fmt.Sprintf("--nodes %d", n)); err != nil {
				return nil, err
			}
			lines = append(lines, fmt.Sprintf("%s: --nodes %d at %s", c.Name, n, path))
		}
	}
	return lines, nil
}

// put sets the value at a dotted path of a component, and makes the maps on the way.
func put(c *recipe.Component, path string, value any, from string) error {
	return putSteps(c, strings.Split(path, "."), value, from)
}

func putSteps(c *recipe.Component, keys []string, value any, from string) error {
	path := strings.Join(keys, ".")
	if c.Values == nil {
		c.Values = map[string]any{}
	}
	at := c.Values
	for i, key := range keys[:len(keys)-1] {
		switch next := at[key].(type) {
		case map[string]any:
			at = next
		case nil:
			made := map[string]any{}
			at[key] = made
			at = made
		default:
			return &bundle.ComponentError{Component: c.Name, Origin: c.Declared, Problem: fmt.Sprintf("%s: the value at %s is not a map but %v, so nothing can be set at %s", from, strings.Join(keys[:i+1], "."), next, path)}
		}
	}
	at[keys[len(keys)-1]] = value
	note(c, path, from)
	return nil
}

// note writes down what set a value path.
func note(c *recipe.Component, path, from string) {
	if c.Origins == nil {
		c.Origins = map[string]recipe.Origin{}
	}
	c.Origins[path] = recipe.Origin{File: from}
}
