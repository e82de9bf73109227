package bundle

// steering.go finds the values of a recipe that decide which nodes admit a component's pods: it
// marks each in the values of a rendering, and looks where the marks come out. It knows values and
// pod specs. It must not know charts, nor render.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// SteeringSource is a value that a file of the recipe sets and that comes out in a workload's pod
// spec, where it takes part in deciding which nodes admit the pods.
type SteeringSource struct {
	// Field is the part of the pod spec: "nodeSelector", "affinity" (required node affinity),
	// "requests" or "limits". What is traced after a failure may be any other field.
	Field string
	// Key is the label key or the name of the resource; empty for affinity.
	Key string
	// Path is the dotted value path, e.g. controller.nodeSelector.disktype; Origin the file and
	// line that set it last.
	Path   string
	Origin recipe.Origin
	// KeyStays and ValueStays are what a rendering showed of a value that was traced: without it the field is
	// still there, and another value of it is not the field's.
	KeyStays, ValueStays bool
	// Default: no file sets it, and the chart's default value decides. Origin is where the component is declared.
	Default bool
	// Lost: it is a null, which never reaches Helm, unless a person does what this says.
	Lost string
}

// The parts of a pod spec that a Source can name.
const (
	FieldNodeSelector = "nodeSelector"
	FieldAffinity     = "affinity"
	FieldRequests     = "requests"
	FieldLimits       = "limits"
	FieldNodeName     = "nodeName"
)

// steeringPrefix begins the label and taint keys by which values are followed through a chart.
const steeringPrefix = "trace.aicr.nvidia.com/"

// steeringOff reports whether a path is in a part of a chart that is switched off: in which one of the maps around
// it says that it is not enabled. The first values that say something decide.
func steeringOff(path string, values ...map[string]any) bool {
	keys := strings.Split(path, ".")
	for depth := 1; depth < len(keys); depth++ {
		if on := enabled(keys[:depth], values); on != nil && !*on {
			return true
		}
	}
	return false
}

// enabled is what the first values say of a part; nil if none does.
func enabled(part []string, values []map[string]any) *bool {
	for _, m := range values {
		for _, k := range part {
			m, _ = m[k].(map[string]any)
		}
		for _, name := range []string{"enabled", "enable"} {
			if on, ok := m[name].(bool); ok {
				return &on
			}
		}
	}
	return nil
}

// steeringValue is a value of the recipe with what stands for it in the traced rendering.
type steeringValue struct {
	keys   []string // not a dotted path: label keys have dots of their own
	source SteeringSource
	mark   string
	number bool // the value was a number, so its mark must be one
}

// steeringValues finds the values of a component that may steer its pods, by the names that charts
// give to the maps around them. Whether they do is for the rendering to say.
func steeringValues(c *recipe.Component) []*steeringValue {
	var found []*steeringValue
	var walk func(m map[string]any, keys []string)
	walk = func(m map[string]any, keys []string) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			here := append(slices.Clone(keys), k)
			if child, ok := m[k].(map[string]any); ok {
				walk(child, here)
				continue
			}
			path := strings.Join(here, ".")
			origin, ok := c.Origins[path]
			if !ok {
				continue // the harness put it in
			}
			v := &steeringValue{keys: here, source: SteeringSource{Path: path, Origin: origin}}
			if !v.classify(m[k]) {
				continue
			}
			// Six digits: a template prints longer numbers with an exponent.
			v.mark = fmt.Sprint(700001 + len(found))
			found = append(found, v)
		}
	}
	walk(c.Values, nil)
	return found
}

// classify says what the value may steer; false if nothing.
func (v *steeringValue) classify(value any) bool {
	last, parent := v.keys[len(v.keys)-1], ""
	if len(v.keys) > 1 {
		parent = v.keys[len(v.keys)-2]
	}
	switch value.(type) {
	case string:
	case int, int64, uint64, float64:
		v.number = true
	case []any:
		if last != "nodeSelectorTerms" {
			return false
		}
		v.source.Field = FieldAffinity
		return true
	default:
		return false
	}
	switch {
	case parent == FieldRequests || parent == FieldLimits:
		v.source.Field, v.source.Key = parent, last
	case strings.HasSuffix(strings.ToLower(parent), "nodeselector"):
		v.source.Field, v.source.Key = FieldNodeSelector, last
	default:
		return false
	}
	return true
}

// Put replaces the value by its mark; a list of node selector terms gets the mark as a requirement
// of each term.
func (v *steeringValue) Put(values map[string]any) {
	m := values
	for _, k := range v.keys[:len(v.keys)-1] {
		next, ok := m[k].(map[string]any)
		if !ok {
			return
		}
		m = next
	}
	last := v.keys[len(v.keys)-1]
	switch list, isList := m[last].([]any); {
	case isList:
		for _, item := range list {
			term, ok := item.(map[string]any)
			if !ok {
				continue
			}
			have, _ := term["matchExpressions"].([]any)
			term["matchExpressions"] = append(have[:len(have):len(have)], map[string]any{"key": v.label(), "operator": "Exists"})
		}
	case v.number:
		var n int64
		_, _ = fmt.Sscan(v.mark, &n)
		m[last] = n
	default:
		m[last] = v.mark
	}
}

func (v *steeringValue) label() string { return steeringPrefix + "v" + v.mark }

// FoundIn reports the sources of the parts of a pod spec in which the mark comes out. The key is
// the pod spec's own: a template may rename one.
func (v *steeringValue) FoundIn(spec map[string]any) []SteeringSource {
	var found []SteeringSource
	add := func(field, key string) {
		s := v.source
		s.Field, s.Key = field, key
		if !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	if v.source.Field == FieldAffinity {
		if strings.Contains(fmt.Sprint(spec["affinity"]), v.label()) {
			add(FieldAffinity, "")
		}
		return found
	}
	match := func(field string, in any) {
		m, _ := in.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if fmt.Sprint(m[k]) == v.mark {
				add(field, k)
			}
		}
	}
	match(FieldNodeSelector, spec["nodeSelector"])
	resources := func(of map[string]any) {
		r, _ := of["resources"].(map[string]any)
		match(FieldRequests, r["requests"])
		match(FieldLimits, r["limits"])
	}
	resources(spec) // the pod's own
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			resources(container)
		}
	}
	return found
}
