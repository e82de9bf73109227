package bundle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// NodeTypeLabel is the node label by which AICR distinguishes system from accelerated nodes.
const NodeTypeLabel = "aicr.nvidia.com/node-type"

// TodaysNodeTypeLabel is the same since July. Simulated nodes have both, since a bundle that AICR's
// own CLI makes may select nodes by either.
const TodaysNodeTypeLabel = "aicr.run/node-type"

// NodeKindOf gives the kind of node that labels, or a selector for them, name; NodeAny if they name
// none.
func NodeKindOf(labels map[string]string) NodeKind {
	for _, label := range []string{NodeTypeLabel, TodaysNodeTypeLabel} {
		switch kind := NodeKind(labels[label]); kind {
		case NodeSystem, NodeAccelerated:
			return kind
		}
	}
	return NodeAny
}

// IsNodeTypeLabel reports whether the label is one of the two that name a node's type.
func IsNodeTypeLabel(label string) bool {
	return label == NodeTypeLabel || label == TodaysNodeTypeLabel
}

// KwokScheduling is what AICR passes when it bundles for KWOK: NodeTypeLabel distinguishes the
// nodes, every node has KWOK's taint, and accelerated nodes have the GPU taint.
func KwokScheduling() Scheduling {
	kwok := corev1.Toleration{Key: "kwok.x-k8s.io/node", Operator: corev1.TolerationOpEqual, Value: "fake", Effect: corev1.TaintEffectNoSchedule}
	gpu := corev1.Toleration{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpEqual, Value: "present", Effect: corev1.TaintEffectNoSchedule}
	return Scheduling{
		SystemNodeSelector:      map[string]string{NodeTypeLabel: string(NodeSystem)},
		SystemTolerations:       []corev1.Toleration{kwok},
		AcceleratedNodeSelector: map[string]string{NodeTypeLabel: string(NodeAccelerated)},
		AcceleratedTolerations:  []corev1.Toleration{kwok, gpu},
	}
}

// kindScheduling is one node kind's half of a Scheduling and of a component's paths.
type kindScheduling struct {
	node        NodeKind
	paths       recipe.SchedulingPaths
	selector    map[string]string
	tolerations []corev1.Toleration
}

func schedulingOf(c *recipe.Component, s Scheduling) []kindScheduling {
	return []kindScheduling{
		{NodeSystem, c.NodeScheduling.System, s.SystemNodeSelector, s.SystemTolerations},
		{NodeAccelerated, c.NodeScheduling.Accelerated, s.AcceleratedNodeSelector, s.AcceleratedTolerations},
	}
}

// inject returns a copy of the component's values with the scheduling at the component's paths, and
// a line for each value that it injected. It keeps what the recipe sets itself, since the harness
// must not hide an explicit selector. What an overlay or --set has, it treats as AICR's bundler does
// since July: it leaves a path alone that they set to be empty, and appends to their tolerations,
// while it replaces those of values files, and those of system nodes by those of accelerated ones. It
// sets the taint that pods wait for on demand only.
func inject(c *recipe.Component, s Scheduling, generation recipe.Generation) (values map[string]any, overrides []string, err error) {
	values = copyMap(c.Values)
	fail := func(path string, err error) error {
		return &ComponentError{Component: c.Name, Origin: originOf(c, path), Problem: err.Error()}
	}
	overridden := func(path string) (any, bool) {
		if generation == recipe.March {
			return nil, false
		}
		return at(c.Overrides, path)
	}
	for _, k := range schedulingOf(c, s) {
		var selectors, tolerations, taints []string
		for _, path := range k.paths.NodeSelectorPaths {
			if v, own := overridden(path); own && empty(v) {
				continue
			}
			added, err := addSelector(values, path, k.selector)
			if err != nil {
				return nil, nil, fail(path, err)
			}
			if added {
				selectors = append(selectors, path)
			}
		}
		for _, path := range k.paths.TolerationPaths {
			v, own := overridden(path)
			if own && empty(v) {
				continue
			}
			if !own && generation != recipe.March && len(k.tolerations) > 0 {
				if err := put(values, path, []any{}); err != nil {
					return nil, nil, fail(path, err)
				}
			}
			added, err := addTolerations(values, path, k.tolerations)
			if err != nil {
				return nil, nil, fail(path, err)
			}
			if added {
				tolerations = append(tolerations, path)
			}
		}
		for _, path := range k.paths.TaintStrPaths {
			if v, _ := at(values, path); v != nil || len(k.tolerations) == 0 || generation != recipe.March {
				continue
			}
			if err := put(values, path, FormatToleration(k.tolerations[len(k.tolerations)-1])); err != nil {
				return nil, nil, fail(path, err)
			}
			taints = append(taints, path)
		}
		line := func(what string, paths []string) {
			if len(paths) > 0 {
				overrides = append(overrides, fmt.Sprintf("%s: %s %s at %s", c.Name, k.node, what, strings.Join(paths, ", ")))
			}
		}
		line("nodeSelector "+formatLabels(k.selector), selectors)
		line("tolerations "+formatAll(k.tolerations), tolerations)
		if len(taints) > 0 {
			line("taint "+FormatToleration(k.tolerations[len(k.tolerations)-1]), taints)
		}
	}
	return values, overrides, nil
}

// empty: somebody who sets this wants nothing there.
func empty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return v == nil
}

// addSelector adds the keys that the map at path does not have yet.
func addSelector(values map[string]any, path string, selector map[string]string) (bool, error) {
	if len(selector) == 0 {
		return false, nil
	}
	v, _ := at(values, path)
	current, ok := v.(map[string]any)
	if !ok {
		if v != nil {
			return false, fmt.Errorf("%s must be a map of node labels, not %v", path, v)
		}
		current = map[string]any{}
	}
	added := false
	for k, v := range selector {
		if _, ok := current[k]; !ok {
			current[k], added = v, true
		}
	}
	return added, put(values, path, current)
}

// addTolerations appends the tolerations that the list at path does not have yet.
func addTolerations(values map[string]any, path string, tolerations []corev1.Toleration) (bool, error) {
	if len(tolerations) == 0 {
		return false, nil
	}
	v, _ := at(values, path)
	current, ok := v.([]any)
	if !ok && v != nil {
		return false, fmt.Errorf("%s must be a list of tolerations, not %v", path, v)
	}
	added := false
	for _, t := range tolerations {
		if m := tolerationMap(t); !tolerationIn(current, m) {
			current, added = append(current, m), true
		}
	}
	return added, put(values, path, current)
}

// originOf is the place in the recipe that decides a value path: the file that sets it, or sets
// something below it, or else the place that declares the component.
func originOf(c *recipe.Component, path string) recipe.Origin {
	if o, ok := c.Origins[path]; ok {
		return o
	}
	var below []string
	for p := range c.Origins {
		if strings.HasPrefix(p, path+".") {
			below = append(below, p)
		}
	}
	if len(below) > 0 {
		return c.Origins[slices.Min(below)]
	}
	return c.Declared
}

// setByRecipe reports whether a file of the recipe sets a value path, or something below it.
func setByRecipe(c *recipe.Component, path string) bool { return originOf(c, path) != c.Declared }

func sortedUnique(in []string) []string { return slices.Compact(slices.Sorted(slices.Values(in))) }
