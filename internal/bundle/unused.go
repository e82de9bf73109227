package bundle

// unused.go finds the values of a recipe that a chart does not have: no default of the chart
// and no schema names them, and no template reads them, as far as the text of the templates tells.
// A misspelt value is one of them, and Helm ignores it without a word. It knows charts and values.
// It must not know bundles, nor render.

import (
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// unusedValue is a key of a recipe's values that a chart does not have.
type unusedValue struct {
	// Keys lead to the first key that is not known, which is the last of them.
	Keys []string
	// Paths are the values of the recipe at or below it, dotted and sorted.
	Paths []string
	// Near is the dotted path of the nearest key that the chart has; empty if none is near.
	Near string
	// Whole: a template takes a map around the key as a whole, so that only a rendering can tell
	// that the key is not read.
	Whole bool
}

// dotted reports whether the key is a path with dots, which leads to a value that the chart has.
func (v *unusedValue) dotted() bool {
	return v.Near != "" && v.Near == v.Path()
}

// misspelt reports whether the key has a dotted path for a name, or is at most one letter from a key beside it, of two if it
// is long: other charts of its name may well have it, if it is less like one of this chart's.
func (v *unusedValue) misspelt() bool {
	last := len(v.Keys) - 1
	key, edits := v.Keys[last], 1
	if len(key) >= longKey {
		edits = 2
	}
	name, beside := strings.CutPrefix(v.Near, strings.Join(append(slices.Clone(v.Keys[:last]), ""), "."))
	return v.dotted() || v.Near != "" && beside && len(key) >= shortKey && lists.Within(key, []string{name}, edits) != ""
}

// Of keys below the first length each is like another, and above the second two letters are.
const shortKey, longKey = 5, 8

// Path is the dotted path of the key.
func (v *unusedValue) Path() string { return strings.Join(v.Keys, ".") }

// findUnused gives the values that the chart does not have, sorted by path. Given are the values of the
// recipe, each with the keys that lead to it; manifests are templates beside the chart that see the
// component's values too, under the component's name.
func findUnused(ch *chart.Chart, component string, given [][]string, manifests [][]byte) []unusedValue {
	var open []question
	for _, keys := range given {
		if q, known := ask(ch, keys); !known {
			open = append(open, q)
		}
	}
	if len(open) == 0 {
		return nil // templates need not be read
	}
	all := readTree(ch)
	own := &source{}
	for _, text := range manifests {
		own.read(string(text))
	}
	own.strip(component)
	byKey := map[string]*unusedValue{}
	for i := range open {
		q := &open[i]
		v, ok := all.judge(q, own)
		if !ok {
			continue
		}
		path := v.Path()
		if have := byKey[path]; have != nil {
			have.Paths = append(have.Paths, v.Paths...)
			continue
		}
		byKey[path] = &v
	}
	var found []unusedValue
	for _, v := range byKey {
		slices.Sort(v.Paths)
		found = append(found, *v)
	}
	slices.SortFunc(found, func(a, b unusedValue) int { return strings.Compare(a.Path(), b.Path()) })
	return found
}

// simulated is the annotation of charts that stand for others.
const simulated = "aicr.nvidia.com/simulated"

// unusedSimulated reports whether a chart stands for an original, of which it has only some of the values.
func unusedSimulated(ch *chart.Chart) bool { return ch.Metadata.Annotations[simulated] == "true" }

// scope is a chart with the place of its values in those of the chart above it all.
type scope struct {
	chart *chart.Chart
	depth int // how many keys lead to its values
	// unknown is the index in the question's keys of the first that the chart's defaults lack.
	unknown  int
	siblings map[string]any // the defaults beside it
}

// question is a value that no default has.
type question struct {
	keys    []string
	scopes  []scope
	unknown int
}

// ask looks for a value among the defaults and the schemas of a chart and of its subcharts.
func ask(ch *chart.Chart, keys []string) (q question, known bool) {
	q = question{keys: keys}
	if keys[0] == "global" {
		everyChart(ch, func(c *chart.Chart) { q.scopes = append(q.scopes, scope{chart: c}) })
	} else if q.scopes, known = scopesOf(ch, keys); known {
		return q, true
	}
	for i := range q.scopes {
		s := &q.scopes[i]
		own := keys[s.depth:]
		if len(own) == 0 || declared(s.chart, own) || inSchema(s.chart.Schema, own) {
			return q, true
		}
		at, siblings, has := inDefaults(s.chart.Values, own)
		if has {
			return q, true
		}
		s.unknown, s.siblings = s.depth+at, siblings
		q.unknown = max(q.unknown, s.unknown)
	}
	return q, false
}

// scopesOf are the chart, and the subchart that the keys lead to, and so on. Values of a subchart
// that is not in the archive are known to nobody, and count as known.
func scopesOf(ch *chart.Chart, keys []string) (scopes []scope, known bool) {
	scopes = []scope{{chart: ch}}
	for depth := 1; depth <= len(keys); depth++ {
		sub, listed := subchart(ch, keys[depth-1])
		if sub == nil {
			return scopes, listed
		}
		scopes = append(scopes, scope{chart: sub, depth: depth})
		ch = sub
	}
	return scopes, false
}

// subchart is the dependency that has the values under a key, if it is in the archive; listed says
// whether the chart names such a one.
func subchart(ch *chart.Chart, key string) (sub *chart.Chart, listed bool) {
	name, renamed := key, false
	for _, d := range ch.Metadata.Dependencies {
		switch {
		case d == nil:
		case d.Alias == key || d.Alias == "" && d.Name == key:
			name, listed = d.Name, true
		case d.Name == key:
			renamed = true
		}
	}
	if renamed && !listed {
		return nil, false // its values are under its alias
	}
	for _, c := range ch.Dependencies() {
		if c.Name() == name {
			return c, true
		}
	}
	return nil, listed
}

func everyChart(ch *chart.Chart, do func(*chart.Chart)) {
	do(ch)
	for _, sub := range ch.Dependencies() {
		everyChart(sub, do)
	}
}

// declared reports whether a chart's dependencies name the value: as the condition or the tag by
// which one is enabled, or as what they export.
func declared(ch *chart.Chart, keys []string) bool {
	path := strings.Join(keys, ".")
	return slices.ContainsFunc(ch.Metadata.Dependencies, func(d *chart.Dependency) bool {
		if d == nil {
			return false
		}
		return slices.Contains(strings.Split(d.Condition, ","), path) ||
			len(keys) == 2 && keys[0] == "tags" && slices.Contains(d.Tags, keys[1]) ||
			len(d.ImportValues) > 0 && keys[0] == "exports"
	})
}

// inDefaults follows the keys through a chart's defaults. What is below an empty map, a list or a
// scalar is for the template to read as it likes, and counts as there.
func inDefaults(defaults map[string]any, keys []string) (at int, siblings map[string]any, has bool) {
	m := defaults
	for i, key := range keys {
		v, ok := m[key]
		if !ok {
			return i, m, false
		}
		next, ok := v.(map[string]any)
		if !ok || len(next) == 0 {
			return 0, nil, true
		}
		m = next
	}
	return 0, nil, true
}

// near is the path of the nearest key beside the unknown one, or of the only one of that name
// elsewhere among the defaults.
func (q *question) near(readAt func(s *scope) []string) string {
	key, prefix := q.keys[q.unknown], q.keys[:q.unknown:q.unknown]
	if strings.Contains(key, ".") {
		for i := range q.scopes {
			s := &q.scopes[i]
			if own := append(slices.Clone(prefix[min(s.depth, len(prefix)):]), strings.Split(key, ".")...); s.unknown == q.unknown {
				if _, _, has := inDefaults(s.chart.Values, own); has {
					return strings.Join(append(prefix, key), ".")
				}
			}
		}
	}
	var beside, elsewhere []string
	for i := range q.scopes {
		s := &q.scopes[i]
		if s.unknown > q.unknown {
			continue
		}
		if s.unknown == q.unknown {
			for k := range s.siblings {
				beside = append(beside, k)
			}
		}
		for _, sub := range s.chart.Dependencies() {
			if s.depth == q.unknown {
				beside = append(beside, sub.Name())
			}
		}
		beside = append(beside, readAt(s)...)
		walkUnused(s.chart.Values, q.keys[:s.depth:s.depth], func(path []string) {
			if path[len(path)-1] == q.keys[len(q.keys)-1] {
				elsewhere = append(elsewhere, strings.Join(path, "."))
			}
		})
	}
	slices.Sort(beside)
	if n := lists.Nearest(key, slices.Compact(beside)); n != "" && n != key {
		return strings.Join(append(prefix, n), ".")
	}
	if len(elsewhere) == 1 && len(q.keys) == q.unknown+1 {
		return elsewhere[0]
	}
	return ""
}

func walkUnused(values map[string]any, above []string, do func(path []string)) {
	for k, v := range values {
		path := append(slices.Clone(above), k)
		do(path)
		if m, ok := v.(map[string]any); ok {
			walkUnused(m, path, do)
		}
	}
}
