// Package toleration has tolerations as values of charts have them. It must not know whose they are.
package toleration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Map is a toleration as a value, without the fields that are not set.
func Map(t corev1.Toleration) map[string]any {
	m := map[string]any{}
	set := func(key, value string) {
		if value != "" {
			m[key] = value
		}
	}
	set("key", t.Key)
	set("operator", string(t.Operator))
	set("value", t.Value)
	set("effect", string(t.Effect))
	return m
}

// In reports whether a list has a toleration, for any time.
func In(list []any, want map[string]any) bool {
	return slices.ContainsFunc(list, func(have any) bool { return same(have, want) })
}

func same(have any, want map[string]any) bool {
	m, ok := have.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range []string{"key", "operator", "value", "effect"} {
		a, b := m[key], want[key]
		if key == "operator" { // an absent operator means Equal
			if a == nil {
				a = string(corev1.TolerationOpEqual)
			}
			if b == nil {
				b = string(corev1.TolerationOpEqual)
			}
		}
		if a != b {
			return false
		}
	}
	return m["tolerationSeconds"] == nil
}
