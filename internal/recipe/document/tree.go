package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Tree is a value together with the places that set it and everything in it. Trees are never
// changed once made, so parts of them are shared freely.
type Tree struct {
	Origin Origin
	Fields map[string]*Tree // not nil: a map
	Leaf   any              // otherwise: anything else, lists included
}

// TreeOf builds the tree of a node. A key's origin is the line of the key.
func TreeOf(n *yaml.Node, at Origin, p *Problems) *Tree {
	n = target(n)
	if n.Kind == yaml.MappingNode {
		t := &Tree{Origin: at, Fields: map[string]*Tree{}}
		for _, f := range fieldsOf(n) {
			keyAt := Origin{File: at.File, Line: f.key.Line}
			if f.key.Kind != yaml.ScalarNode {
				p.Add(keyAt, "%s cannot be a key; use a string", KindName(f.key))
				continue
			}
			t.Fields[f.key.Value] = TreeOf(f.value, keyAt, p)
		}
		return t
	}
	at.Written = Written(n)
	if listed := numbersIn(n, nil); listed != nil {
		at.Listed = &listed
	}
	return &Tree{Origin: at, Leaf: leafOf(n, at.File, p)}
}

// Written is a number without quotes as its file has it, if it is printed otherwise once it is read: 1.10, 0123,
// 1e5. Empty for anything else.
func Written(n *yaml.Node) string {
	if n = target(n); n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return ""
	}
	if tag := n.ShortTag(); tag != "!!int" && tag != "!!float" {
		return ""
	}
	v, err := scalarValue(n)
	if err != nil || fmt.Sprint(v) == n.Value {
		return ""
	}
	return n.Value
}

// numbersIn are the numbers of a list, and of all in it, that are printed otherwise than they are written.
func numbersIn(n *yaml.Node, path []any) []Number {
	var all []Number
	switch n = target(n); {
	case n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			all = append(all, numbersIn(item, append(slices.Clone(path), i))...)
		}
	case n.Kind == yaml.MappingNode && path != nil:
		for _, f := range fieldsOf(n) {
			all = append(all, numbersIn(f.value, append(slices.Clone(path), f.key.Value))...)
		}
	case path != nil:
		if text := Written(n); text != "" {
			all = append(all, Number{Path: path, Line: n.Line, Written: text})
		}
	}
	return all
}

func leafOf(n *yaml.Node, file string, p *Problems) any {
	switch n = target(n); n.Kind {
	case yaml.MappingNode:
		return TreeOf(n, Origin{File: file, Line: n.Line}, p).Value()
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, element := range n.Content {
			list[i] = leafOf(element, file, p)
		}
		return list
	default:
		v, err := scalarValue(n)
		if err != nil {
			p.Add(Origin{File: file, Line: n.Line}, "%w", err)
		}
		return v
	}
}

// TreeFrom builds the tree of a value that came without places: each part takes its place from the
// part of known at the same path, or else from its parent.
func TreeFrom(v any, known *Tree, at Origin) *Tree {
	if known != nil {
		at = known.Origin
	}
	m, ok := v.(map[string]any)
	if !ok {
		return &Tree{Origin: at, Leaf: CopyValue(v)}
	}
	t := &Tree{Origin: at, Fields: make(map[string]*Tree, len(m))}
	for key, child := range m {
		var knownChild *Tree
		if known != nil {
			knownChild = known.Fields[key]
		}
		t.Fields[key] = TreeFrom(child, knownChild, at)
	}
	return t
}

// MergeTrees puts over on top of under: maps merge, anything else replaces, null too (resolution
// rule 7). A map that both set was last set by over. Either may be nil.
func MergeTrees(under, over *Tree) *Tree {
	switch {
	case over == nil:
		return under
	case under == nil || under.Fields == nil || over.Fields == nil:
		return over
	}
	merged := &Tree{Origin: over.Origin, Fields: maps.Clone(under.Fields)}
	for key, child := range over.Fields {
		merged.Fields[key] = MergeTrees(merged.Fields[key], child)
	}
	return merged
}

// Value gives a copy without the places; nil for a nil tree.
func (t *Tree) Value() any {
	if t == nil {
		return nil
	}
	if t.Fields == nil {
		return CopyValue(t.Leaf)
	}
	m := make(map[string]any, len(t.Fields))
	for key, child := range t.Fields {
		m[key] = child.Value()
	}
	return m
}

// Leaves gives the place of every dotted path that is no map, and of empty maps.
func (t *Tree) Leaves() map[string]Origin {
	found := map[string]Origin{}
	t.addLeaves("", found)
	return found
}

func (t *Tree) addLeaves(path string, found map[string]Origin) {
	if t == nil {
		return
	}
	if len(t.Fields) == 0 {
		if path != "" {
			found[path] = t.Origin
		}
		return
	}
	for key, child := range t.Fields {
		child.addLeaves(Join(path, key), found)
	}
}

// Unclear finds the keys that have a dot or are empty, and the empty maps: by their paths it could not
// be said what is set.
func (t *Tree) Unclear(found func(path string, at Origin, empty bool)) { t.unclear("", found) }

func (t *Tree) unclear(path string, found func(path string, at Origin, empty bool)) {
	if t == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(t.Fields)) {
		child, way := t.Fields[key], Join(path, key)
		switch {
		case key == "" || strings.Contains(key, "."):
			found(way, child.Origin, false)
		case child.Fields != nil && len(child.Fields) == 0:
			found(way, child.Origin, true)
		default:
			child.unclear(way, found)
		}
	}
}

// HydrateTrees puts over on top of under as AICR's CLI does since July when it reads a component's
// values: like MergeTrees, but a null of over deletes the key. In a map that has no other map to
// merge into, it stays.
func HydrateTrees(under, over *Tree) *Tree {
	switch {
	case over == nil:
		return under
	case under == nil || under.Fields == nil || over.Fields == nil:
		return over
	}
	merged := &Tree{Origin: over.Origin, Fields: maps.Clone(under.Fields)}
	for key, child := range over.Fields {
		if child.Fields == nil && child.Leaf == nil {
			delete(merged.Fields, key)
			continue
		}
		merged.Fields[key] = HydrateTrees(merged.Fields[key], child)
	}
	return merged
}

// MapValue is Value for a tree that can only be a map.
func (t *Tree) MapValue() map[string]any {
	m, _ := t.Value().(map[string]any)
	return m
}

// Origins gives the place of every dotted path in the tree.
func (t *Tree) Origins() map[string]Origin {
	found := map[string]Origin{}
	t.addOrigins("", found)
	return found
}

func (t *Tree) addOrigins(prefix string, found map[string]Origin) {
	if t == nil {
		return
	}
	// Sorted, because a key with a dot in it can have the path of another key's child.
	for _, key := range slices.Sorted(maps.Keys(t.Fields)) {
		child := t.Fields[key]
		found[prefix+key] = child.Origin
		child.addOrigins(prefix+key+".", found)
	}
}

// Nearest says which place set the value at a dotted path: the place of the path itself or, where
// no file sets the path, of the longest part of it that one does. It reports false if no file sets
// any part.
func Nearest(origins map[string]Origin, path string) (Origin, bool) {
	for end := len(path); end > 0; end-- {
		if end < len(path) && path[end] != '.' {
			continue
		}
		if origin, ok := origins[path[:end]]; ok {
			return origin, true
		}
	}
	return Origin{}, false
}

// CopyValue copies the maps and lists of a value as YAML or JSON has it; a nil map becomes an empty
// one. Leaves are values in Go and need no copy. Kubernetes' own DeepCopyJSONValue panics at an
// int, which values that were written in Go have.
func CopyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, child := range v {
			m[key] = CopyValue(child)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, child := range v {
			list[i] = CopyValue(child)
		}
		return list
	default:
		return v
	}
}
