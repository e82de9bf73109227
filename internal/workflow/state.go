package workflow

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// lacking returns how an object differs from a state that it should have; "" if it does not. In
// maps, only the state's keys are compared; null means that the key must be absent. In lists, each
// of the state's entries must exist, in any order; further ones may.
func lacking(want, have any, path string) string {
	want, have = plain(want), plain(have)
	at := strings.TrimPrefix(path, ".")
	switch w := want.(type) {
	case nil:
		if have != nil {
			return fmt.Sprintf("%s is %s, want none", at, short(have))
		}
		return ""
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok && have != nil {
			return fmt.Sprintf("%s is %s, want an object", at, short(have))
		}
		for _, key := range sortedKeys(w) {
			if why := lacking(w[key], h[key], path+"."+key); why != "" {
				return why
			}
		}
		return ""
	case []any:
		h, ok := have.([]any)
		if !ok {
			return fmt.Sprintf("%s is %s, want a list", at, short(have))
		}
		for _, entry := range w {
			if !slices.ContainsFunc(h, func(one any) bool { return lacking(entry, one, path) == "" }) {
				return fmt.Sprintf("%s has no entry %s", at, short(entry))
			}
		}
		return ""
	}
	if reflect.DeepEqual(want, have) {
		return ""
	}
	if have == nil {
		return fmt.Sprintf("%s is not set, want %s", at, short(want))
	}
	return fmt.Sprintf("%s is %s, want %s", at, short(have), short(want))
}

// plain converts every number to one type.
func plain(v any) any {
	switch n := v.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case uint64:
		return float64(n)
	case float32:
		return float64(n)
	}
	return v
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// short returns a value as JSON, at most 120 characters.
func short(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if text := []rune(string(raw)); len(text) > 120 {
		return string(text[:119]) + "…"
	}
	return string(raw)
}
