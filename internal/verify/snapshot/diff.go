package snapshot

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The kinds of changes.
const (
	Added    = "added"
	Removed  = "removed"
	modified = "modified"
)

// Change is a reading that two snapshots do not have alike.
type Change struct {
	Kind string `json:"kind"`
	// Path is TYPE.SUBTYPE.KEY. Below a subtype's context and items it says so.
	Path string `json:"path"`
	// Baseline and Target are the readings as they were written; nil on the side that has none. A
	// reading that is there and has no value is <nil>.
	Baseline *string `json:"baseline,omitempty"`
	Target   *string `json:"target,omitempty"`
}

// noValue stands for a reading without a value, which is not an empty text.
const noValue = "<nil>"

// Diff gives the readings that two snapshots do not have alike, sorted by path. When, where and by
// what they were taken makes no difference.
func Diff(baseline, target *Snapshot) []Change {
	before, after := baseline.paths(), target.paths()
	all := map[string]bool{}
	for _, m := range []map[string]string{before, after} {
		for path := range m {
			all[path] = true
		}
	}
	changes := []Change{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		old, was := before[path]
		now, is := after[path]
		c := Change{Path: path, Kind: modified}
		if was {
			c.Baseline = &old
		}
		if is {
			c.Target = &now
		}
		switch {
		case was && is && old == now:
			continue
		case !was:
			c.Kind = Added
		case !is:
			c.Kind = Removed
		}
		changes = append(changes, c)
	}
	return changes
}

// paths are all readings by their path. Two types that differ only by case are one.
func (s *Snapshot) paths() map[string]string {
	out := map[string]string{}
	for _, m := range s.Measurements {
		for _, sub := range m.Subtypes {
			prefix := typeName(m.Type) + "." + sub.Name
			for key, r := range sub.Data {
				out[prefix+keyPath(key)] = shown(r)
			}
			for key, text := range sub.Context {
				out[prefix+".context."+key] = text
			}
			if len(sub.Items) > 0 {
				out[prefix+".items.length"] = fmt.Sprint(len(sub.Items))
			}
			for i, item := range sub.Items {
				at := fmt.Sprintf("%s.items[%d]", prefix, i)
				for key, r := range item.Data {
					out[at+".data"+keyPath(key)] = shown(r)
				}
				for key, text := range item.Context {
					out[at+".context."+key] = text
				}
			}
		}
	}
	return out
}

// typeName is the usual spelling of a type.
func typeName(name string) string {
	for _, known := range []string{TypeK8s, TypeOS, TypeSystemD, TypeGPU, TypeNodeTopology} {
		if strings.EqualFold(name, known) {
			return known
		}
	}
	return name
}

// keyPath is a key below a subtype. One that could be taken for its context or its items is quoted.
func keyPath(key string) string {
	if key == "context" || key == "items" || strings.HasPrefix(key, "context.") || strings.HasPrefix(key, "items.") || strings.HasPrefix(key, "items[") {
		if quoted, err := json.Marshal(key); err == nil {
			return "[" + string(quoted) + "]"
		}
	}
	return "." + key
}

func shown(r Reading) string {
	if r.Value == nil {
		return noValue
	}
	return r.String()
}
