package bundle

// toleration.go has tolerations, and labels of nodes, as values of charts and flags have them. It must
// not know whose they are.

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// tolerationMap is a toleration as a value, without the fields that are not set.
func tolerationMap(t corev1.Toleration) map[string]any {
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

// tolerationIn reports whether a list has a toleration, for any time.
func tolerationIn(list []any, want map[string]any) bool {
	return slices.ContainsFunc(list, func(have any) bool { return tolerationSame(have, want) })
}

func tolerationSame(have any, want map[string]any) bool {
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

// FormatToleration is a toleration as flags and reports have it: KEY=VALUE:EFFECT, or KEY:EFFECT
// for any value; * is that of every taint.
func FormatToleration(t corev1.Toleration) string {
	s := t.Key
	if s == "" {
		s = "*"
	}
	if t.Operator != corev1.TolerationOpExists {
		s += "=" + t.Value
	}
	if t.Effect != "" {
		s += ":" + string(t.Effect)
	}
	return s
}

// formatAll are several of them.
func formatAll(ts []corev1.Toleration) string {
	var out []string
	for _, t := range ts {
		out = append(out, FormatToleration(t))
	}
	return strings.Join(out, ",")
}

// formatLabels are labels of nodes as flags have them.
func formatLabels(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, ",")
}
