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
// their paths. It compares lists by their keys if each element has one of its own (ItemKey), so that a missing
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
	if key := ItemKey(a, b); key != nil {
		before := len(*found)
		x, namesA := byKey(a, key)
		y, namesB := byKey(b, key)
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

// byKey has the items of a list by their keys, as parts of a path, and the keys in their order.
func byKey(list []any, key func(any) string) (all map[string]any, names []string) {
	all = make(map[string]any, len(list))
	for _, item := range list {
		name := key(item)
		all["["+name+"]"], names = item, append(names, name)
	}
	return all, names
}

// itemKeys are the fields by which the API server tells the items of its lists apart (x-kubernetes-list-map-keys), or a reader
// does. The protocol is TCP if an item does not say it.
func itemKeys() [][]string {
	return [][]string{{"name"}, {"containerPort", "protocol"}, {"port", "protocol"}, {"mountPath"}, {"devicePath"}, {"ip"}, {"topologyKey", "whenUnsatisfiable"}, {"key"}}
}

// ItemKey returns what tells the items of each of these lists apart; nil if nothing does.
func ItemKey(lists ...[]any) func(any) string {
	for _, fields := range itemKeys() {
		key := func(item any) string {
			m, _ := item.(map[string]any)
			if text, ok := m[fields[0]].(string); m[fields[0]] == nil || ok && text == "" {
				return ""
			}
			text := fmt.Sprint(m[fields[0]])
			for _, f := range fields[1:] {
				if second := m[f]; second != nil {
					text += fmt.Sprint("/", second)
				} else {
					text += "/TCP"
				}
			}
			return text
		}
		if !slices.ContainsFunc(lists, func(list []any) bool { return !unique(list, key) }) {
			return key
		}
	}
	return nil
}

func unique(items []any, key func(any) string) bool {
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		k := key(item)
		if k == "" || seen[k] {
			return false
		}
		seen[k] = true
	}
	return true
}

// PathOf writes a path whose parts are texts for fields and numbers for items, as the API server does.
func PathOf(keys []any) (path string) {
	for _, k := range keys {
		switch k := k.(type) {
		case int:
			path = index(path, k)
		case string:
			path = field(path, k)
		}
	}
	return path
}

// index is the path of a list's element.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// join writes a path as JSONPath does: a.b, a["x/y"], a[name].
func join(path, key string) string {
	if strings.HasPrefix(key, "[") && strings.HasSuffix(key, "]") {
		return path + key
	}
	return field(path, key)
}

// field is the path of a map's value.
func field(path, key string) string {
	switch {
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
