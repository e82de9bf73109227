// Package intact finds what a chart renders and the cluster does not have: a field that the API
// server drops, a value that somebody else has overwritten. It compares each object of the
// expectation with the live one, leaf by leaf: what is live beyond the rendering is a default or
// another owner's. It must not know lanes, wait, or decide a verdict.
package intact

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/matrix/compare"
)

// loss is a place at which a rendered object is not live.
type loss struct {
	// Path is in the form of the API server's errors: spec.containers[0].image, metadata.labels["a/b"].
	Path string
	// Key is the last key of the path, for the search in a template.
	Key string
	// Rendered is the value there, and Live the one in the cluster; nil if it has none.
	Rendered, Live any
	// keys are the path's parts: a string for a field, an int for an item.
	keys []any
}

// Missing reports whether the cluster has no value there.
func (l loss) Missing() bool { return l.Live == nil }

// mostLost bounds what is listed of one object, and mostSteps the search for items of lists that
// have no keys, which a chart could make as long and as deep as it likes. Beyond it, items are
// compared in their places.
const (
	mostLost  = 50
	mostSteps = 300_000
)

// lostFields lists the leaves of a rendered object that the live one does not have, or has with another
// value. A null, an empty map or list, and a zero where the other has nothing, are no value. Items
// of a list are found by their keys.
func lostFields(rendered, live map[string]any) []loss {
	w := &walk{steps: new(int)}
	w.compare(nil, rendered, live)
	return w.lost
}

// at is a place in an object. It is written out only for what is lost.
type at struct {
	above *at
	key   any // a string, or an int
}

func (a *at) keys() []any {
	var all []any
	for ; a != nil; a = a.above {
		all = append(all, a.key)
	}
	slices.Reverse(all)
	return all
}

type walk struct {
	lost []loss
	// quiet notes instead of listing: for the search of an item. steps is of all searches.
	quiet, found bool
	steps        *int
}

func (w *walk) lose(where *at, rendered, live any) {
	w.found = true
	if w.quiet || len(w.lost) >= mostLost {
		return
	}
	keys := where.keys()
	key := ""
	for _, k := range keys {
		if name, ok := k.(string); ok {
			key = name
		}
	}
	w.lost = append(w.lost, loss{Path: compare.PathOf(keys), Key: key, Rendered: rendered, Live: live, keys: keys})
}

func (w *walk) done() bool { return w.found && w.quiet || len(w.lost) >= mostLost }

func (w *walk) compare(where *at, rendered, live any) {
	if w.quiet {
		if *w.steps++; *w.steps > mostSteps {
			w.found = true
		}
	}
	if w.done() || empty(rendered) {
		return
	}
	switch x := rendered.(type) {
	case map[string]any:
		if y, ok := live.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(x)) {
				w.compare(&at{where, k}, x[k], y[k])
			}
			return
		}
	case []any:
		if y, ok := live.([]any); ok {
			w.compareLists(where, x, y)
			return
		}
	default:
		if same(where, rendered, live) {
			return
		}
	}
	if live == nil && nothing(rendered) {
		return
	}
	w.lose(where, rendered, live)
}

func (w *walk) compareLists(where *at, rendered, live []any) {
	if key := compare.ItemKey(rendered, live); key != nil {
		byKey := make(map[string]any, len(live))
		for _, item := range live {
			byKey[key(item)] = item
		}
		for i, item := range rendered {
			w.compare(&at{where, i}, item, byKey[key(item)])
		}
		return
	}
	next := 0 // the live item after the one that was found last
	for i, item := range rendered {
		if w.done() {
			return
		}
		if empty(item) {
			continue
		}
		if len(rendered) == len(live) && w.covers(where, item, live[i]) {
			continue
		}
		if n := w.find(where, item, live, next); n >= 0 {
			next = n + 1
			continue
		}
		var there any
		if len(rendered) == len(live) || *w.steps > mostSteps && i < len(live) {
			there = live[i]
		}
		w.compare(&at{where, i}, item, there)
	}
}

// find returns the position of a live item that has all of a rendered one, from a place on and then
// from the start; negative if there is none.
func (w *walk) find(where *at, item any, live []any, from int) int {
	for n := range live {
		i := (from + n) % len(live)
		if *w.steps > mostSteps {
			return -1
		}
		if w.covers(where, item, live[i]) {
			return i
		}
	}
	return -1
}

// covers reports whether a live value has all of a rendered one.
func (w *walk) covers(where *at, rendered, live any) bool {
	search := &walk{quiet: true, steps: w.steps}
	search.compare(where, rendered, live)
	return !search.found
}

// empty reports whether a value says nothing: null, or a map or list of nothing.
func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	}
	return false
}

// nothing reports whether a value is the same as none: the API server leaves zeros out.
func nothing(v any) bool {
	switch x := v.(type) {
	case map[string]any:
		for _, item := range x {
			if !nothing(item) {
				return false
			}
		}
		return true
	case []any:
		for _, item := range x {
			if !nothing(item) {
				return false
			}
		}
		return true
	}
	return zero(v)
}

func zero(v any) bool { return v == nil || reflect.ValueOf(v).IsZero() }

// longestNumber is how long a quantity, a duration or a time is at most.
const longestNumber = 64

// same reports whether two scalars are one value, however it is written.
func same(where *at, a, b any) bool {
	if a == b {
		return true
	}
	x, y := text(a), text(b)
	if x == "" || y == "" || isText(where) {
		return false
	}
	if x == y { // 80 and "80": an IntOrString
		return true
	}
	if strings.NewReplacer("\n", "", "\r", "").Replace(x) == y { // base64 with line breaks
		return true
	}
	if len(x) > longestNumber {
		return false
	}
	if p, err := resource.ParseQuantity(x); err == nil {
		if q, err := resource.ParseQuantity(y); err == nil && p.Cmp(q) == 0 {
			return true
		}
	}
	if p, err := time.ParseDuration(x); err == nil {
		if q, err := time.ParseDuration(y); err == nil && p == q {
			return true
		}
	}
	if p, err := time.Parse(time.RFC3339Nano, x); err == nil {
		if q, err := time.Parse(time.RFC3339Nano, y); err == nil && p.Truncate(time.Second).Equal(q.Truncate(time.Second)) {
			return true
		}
	}
	return false
}

// isText reports whether the values there are texts, which nothing may write another way: the
// entries of a ConfigMap or Secret, labels and annotations.
func isText(where *at) bool {
	if where == nil || where.above == nil {
		return false
	}
	switch where.above.key {
	case "data", "stringData":
		return where.above.above == nil
	case "labels", "annotations", "matchLabels":
		return true
	}
	return false
}

// text is a scalar as it is written.
func text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case int:
		return strconv.Itoa(x)
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return strconv.FormatInt(int64(x), 10)
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	case json.Number:
		return x.String()
	}
	return ""
}
