package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

const (
	// mostPlaces is how many places of the recipe one description names.
	mostPlaces = 3
	// mostAsked is how many times a component is rendered to find out which of its keys are read.
	mostAsked = 16
)

// setUnused gives the keys of each value that a file of the recipe or a flag sets: what has no place was put
// in by the harness. What is at these dotted paths is left out.
func setUnused(values map[string]any, places map[string]recipe.Origin, without []string) [][]string {
	var found [][]string
	var walk func(m map[string]any, keys []string)
	walk = func(m map[string]any, keys []string) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			here := append(slices.Clone(keys), k)
			path := strings.Join(here, ".")
			if slices.Contains(without, path) {
				continue
			}
			if child, ok := m[k].(map[string]any); ok && len(child) > 0 {
				walk(child, here)
			} else if places[path].File != "" {
				found = append(found, here)
			}
		}
	}
	walk(values, nil)
	return found
}

// confirmUnused gives those of the values that a rendering shows not to be read: same reports whether it is
// the same without some.
func confirmUnused(values []unusedValue, same func(without []unusedValue) bool) []unusedValue {
	if len(values) == 0 {
		return nil
	}
	asked := 0
	ask := func(without []unusedValue) bool {
		asked++
		return asked <= mostAsked && same(without)
	}
	switch {
	case ask(values):
		return values
	case ask(nil):
		return among(values, ask)
	}
	// It is another one each time, so only the text of the templates tells.
	return slices.DeleteFunc(values, func(v unusedValue) bool { return v.Whole })
}

// among are those of the values, one of which at least is read, without which the rendering is the
// same.
func among(values []unusedValue, same func([]unusedValue) bool) []unusedValue {
	if len(values) < 2 {
		return nil
	}
	var found []unusedValue
	for _, half := range [][]unusedValue{values[:len(values)/2], values[len(values)/2:]} {
		if !same(half) {
			half = among(half, same)
		}
		found = append(found, half...)
	}
	return found
}

// dropUnused takes the keys of these out of values.
func dropUnused(values map[string]any, drop []unusedValue) {
	for _, v := range drop {
		m, last := values, len(v.Keys)-1
		for _, key := range v.Keys[:last] {
			m, _ = m[key].(map[string]any)
		}
		delete(m, v.Keys[last])
	}
}

// Describe says what the value is called, where the recipe sets it, and what may be meant.
func (v *unusedValue) Describe(places map[string]recipe.Origin) string {
	var at []string
	for _, path := range v.Paths {
		if place, ok := document.Nearest(places, path); ok && !slices.Contains(at, place.String()) {
			at = append(at, place.String())
		}
	}
	what := v.Path()
	switch {
	case len(v.Paths) > 1:
		what = fmt.Sprintf("%s (%d values)", what, len(v.Paths))
	case v.Paths[0] != what:
		what = fmt.Sprintf("%s (%s)", what, v.Paths[0])
	}
	text := fmt.Sprintf("%s, set at %s; nothing reads it", what, strings.Join(lists.AtMost(at, mostPlaces), ", "))
	switch {
	case v.dotted():
		text += ": Helm takes a key with dots as one name; write it nested"
	case v.Near != "":
		text += fmt.Sprintf(": did you mean %q?", v.Near)
	}
	return text
}
