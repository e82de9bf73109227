package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// difference is one place at which two objects differ. a and b are nil for a missing value, which
// is not a null.
type difference struct {
	path string
	a, b any
}

// null is a null that the object contains.
type null struct{}

// differences compares two JSON values and lists the smallest places that differ, in the order of
// their paths. It compares lists by name if each element has a name of its own, so that a missing
// element does not make all later ones differ; then their order counts too.
func differences(a, b any) []difference {
	var found []difference
	compare("", a, b, &found)
	return found
}

func compare(path string, a, b any, found *[]difference) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			compareMaps(path, x, y, found)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			compareLists(path, x, y, found)
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		*found = append(*found, difference{path, present(a), present(b)})
	}
}

func present(v any) any {
	if v == nil {
		return null{}
	}
	return v
}

func compareMaps(path string, a, b map[string]any, found *[]difference) {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		at := join(path, k)
		x, inA := a[k]
		y, inB := b[k]
		switch {
		case !inA:
			*found = append(*found, difference{at, nil, present(y)})
		case !inB:
			*found = append(*found, difference{at, present(x), nil})
		default:
			compare(at, x, y, found)
		}
	}
}

func compareLists(path string, a, b []any, found *[]difference) {
	namesA, elementsA := named(a)
	namesB, elementsB := named(b)
	if namesA != nil && namesB != nil {
		before := len(*found)
		x, y := map[string]any{}, map[string]any{}
		for name, e := range elementsA {
			x["["+name+"]"] = e
		}
		for name, e := range elementsB {
			y["["+name+"]"] = e
		}
		compareMaps(path, x, y, found)
		if before == len(*found) && !slices.Equal(namesA, namesB) {
			*found = append(*found, difference{path + " (order)", strings.Join(namesA, " "), strings.Join(namesB, " ")})
		}
		return
	}
	for i := range max(len(a), len(b)) {
		at := index(path, i)
		switch {
		case i >= len(a):
			*found = append(*found, difference{at, nil, present(b[i])})
		case i >= len(b):
			*found = append(*found, difference{at, present(a[i]), nil})
		default:
			compare(at, a[i], b[i], found)
		}
	}
}

// named returns the names of a list's elements in their order, and the elements by name; nil unless
// each element has a name of its own.
func named(list []any) ([]string, map[string]any) {
	var names []string
	elements := map[string]any{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" || elements[name] != nil {
			return nil, nil
		}
		names = append(names, name)
		elements[name] = m
	}
	return names, elements
}

// index is the path of a list's element.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// join writes a path as JSONPath does: a.b, a["x/y"], a[name].
func join(path, key string) string {
	switch {
	case strings.HasPrefix(key, "[") && strings.HasSuffix(key, "]"):
		return path + key
	case !plainKey.MatchString(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// longestValue is how much of a value a difference shows, in bytes.
const longestValue = 100

// texts returns the two values for people: the first differing line of long texts, and only the
// length of a Secret's value.
func (d difference) texts() (string, string) {
	a, okA := d.a.(string)
	b, okB := d.b.(string)
	if okA && okB && strings.Contains(a+b, "\n") {
		linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
		for i := range max(len(linesA), len(linesB)) {
			x, y := lineOf(linesA, i), lineOf(linesB, i)
			if x != y {
				at := fmt.Sprintf("line %d ", i+1)
				return at + x, at + y
			}
		}
	}
	return valueText(d.a), valueText(d.b)
}

func lineOf(lines []string, i int) string {
	if i >= len(lines) {
		return "does not exist"
	}
	return valueText(lines[i])
}

var digestText = regexp.MustCompile(secretDigest + `[0-9a-f]{64} (\d+ bytes)`)

func valueText(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case null:
		return "null"
	case exists:
		return "there"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte(fmt.Sprint(v))
	}
	text := digestText.ReplaceAllString(string(raw), "a value of $1 that is not shown")
	if len(text) > longestValue {
		text = strings.ToValidUTF8(text[:longestValue], "") + "…"
	}
	return text
}
