package document

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Select gives the part of doc at a dotted path. Leading dots mean nothing, and an empty selector
// selects all. Elements of lists have numbers, from 0. A key that has dots in it, as label names
// do, is written as it is. A path that is not there is a *NoSuchPathError.
func Select(doc any, selector string) (any, error) {
	way := strings.TrimLeft(selector, ".")
	if way == "" {
		return doc, nil
	}
	segments := strings.Split(way, ".")
	found, missing := find(doc, segments)
	if missing.in != nil {
		return nil, &NoSuchPathError{Selector: selector, Segment: segments[missing.at], In: place(segments[:missing.at]), in: *missing.in}
	}
	return found, nil
}

// NoSuchPathError says that a selector leads nowhere.
type NoSuchPathError struct {
	Selector string
	Segment  string // the first that is not there
	In       string // where it is not: a path, or "the recipe"
	in       any
}

// Error names the nearest key, if one is near, and what the selector could have named.
func (e *NoSuchPathError) Error() string {
	near := ""
	if m, ok := e.in.(map[string]any); ok {
		if near = lists.Hint(e.Segment, slices.Sorted(maps.Keys(m))); near != "" {
			near += " "
		}
	}
	return fmt.Sprintf("selecting %q: there is no %q in %s; %s%s", e.Selector, e.Segment, e.In, near, content(e.in))
}

// dead is where a way ends before its end: no segment from at on leads anywhere in the value. A nil
// value means that it does not end.
type dead struct {
	at int
	in *any
}

// find follows the segments. A key may have dots in it, and one key may be the prefix of another,
// e.g. app and app.kubernetes.io/name. So find tries the shortest key first, and the next one where
// that does not lead to a value. It reports the missing part of the longest way.
func find(doc any, segments []string) (any, dead) {
	if len(segments) == 0 {
		return doc, dead{}
	}
	furthest := dead{0, &doc}
	try := func(child any, used int) (any, bool) {
		found, end := find(child, segments[used:])
		if end.in == nil {
			return found, true
		}
		if end.at += used; end.at > furthest.at {
			furthest = end
		}
		return nil, false
	}
	switch doc := doc.(type) {
	case map[string]any:
		for used := 1; used <= len(segments); used++ {
			if child, ok := doc[strings.Join(segments[:used], ".")]; ok {
				if found, ok := try(child, used); ok {
					return found, dead{}
				}
			}
		}
	case []any:
		if i, err := strconv.Atoi(segments[0]); err == nil && i >= 0 && i < len(doc) {
			if found, ok := try(doc[i], 1); ok {
				return found, dead{}
			}
		}
	}
	return nil, furthest
}

func place(segments []string) string {
	if len(segments) == 0 {
		return "the recipe"
	}
	return strings.Join(segments, ".")
}

// content says what a selector could have named.
func content(doc any) string {
	switch doc := doc.(type) {
	case map[string]any:
		if len(doc) == 0 {
			return "it is empty"
		}
		return "it has " + strings.Join(slices.Sorted(maps.Keys(doc)), ", ")
	case []any:
		return fmt.Sprintf("it is a list of %d, numbered from 0", len(doc))
	case nil:
		return "it is null"
	default:
		return fmt.Sprintf("it is the value %v", doc)
	}
}
