package why

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// pathPart is a key of a path, or what stands in brackets after it: an index, a key with dots, or
// the fields that an item of a list has (name="main").
var pathPart = regexp.MustCompile(`\[([^\]]*)\]|[^.\[\]]+`)

// fieldPath splits spec.containers[0].image and metadata.labels[a/b] into their parts.
func fieldPath(text string) []string {
	var parts []string
	for _, m := range pathPart.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] == "":
			parts = append(parts, m[0])
		case strings.Contains(m[1], "="):
			parts = append(parts, m[1])
		default:
			parts = append(parts, strings.Trim(m[1], `"`))
		}
	}
	return parts
}

// valueAt follows a path of keys and indexes.
func valueAt(v any, path []string) (any, bool) {
	for _, p := range path {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[p]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// in is the path of the field in an object, with the indexes and keys that errors leave out. Go's
// error names neither the item of a list nor the key of a map: it is the first of the wrong type.
func (f *rejectedField) in(o *unstructured.Unstructured) []string {
	path := indexed(o.Object, f.path)
	if f.unfit == "" {
		return path
	}
	if found, ok := unfitIn(o.Object, path, f.unfit); ok {
		return found
	}
	return path
}

func (f *rejectedField) inObject(o *bundle.Object) (*bundle.Object, []string) {
	if o == nil || o.Object == nil {
		return o, f.path
	}
	return o, f.in(o.Object)
}

// indexed replaces the fields that say which item of a list is meant by its index.
func indexed(v any, path []string) []string {
	out := slices.Clone(path)
	for n, part := range path {
		list, _ := v.([]any)
		if i := slices.IndexFunc(list, func(item any) bool { return has(item, part) }); i >= 0 {
			out[n] = strconv.Itoa(i)
		}
		var ok bool
		if v, ok = valueAt(v, out[n:n+1]); !ok {
			break
		}
	}
	return out
}

// has reports whether an item has all fields of a text like containerPort=80,protocol="TCP".
func has(item any, fields string) bool {
	m, _ := item.(map[string]any)
	for _, field := range strings.Split(fields, ",") {
		key, want, ok := strings.Cut(field, "=")
		value, set := m[key]
		if !ok || set && text(value) != strings.Trim(want, `"`) {
			return false // one that is not set has a default
		}
	}
	return m != nil
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// unfitIn completes a path to the first value of a type.
func unfitIn(v any, path []string, unfit string) ([]string, bool) {
	if len(path) == 0 && typeInJSON(v) == unfit {
		return nil, true
	}
	below := func(key string, next any, rest []string) ([]string, bool) {
		found, ok := unfitIn(next, rest, unfit)
		return append([]string{key}, found...), ok
	}
	switch x := v.(type) {
	case map[string]any:
		if len(path) > 0 {
			if next, ok := x[path[0]]; ok {
				return below(path[0], next, path[1:])
			}
			return nil, false
		}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if typeInJSON(x[key]) == unfit {
				return []string{key}, true
			}
		}
	case []any:
		if len(path) > 0 {
			if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(x) {
				return below(path[0], x[i], path[1:])
			}
		}
		for i := range x {
			if found, ok := below(strconv.Itoa(i), x[i], path); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// typeInJSON names the type of a value as the API server's errors do.
func typeInJSON(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return "number"
}
