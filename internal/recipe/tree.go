package recipe

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// tree is a value together with the places that set it and everything in it. Trees are never
// changed once made, so parts of them are shared freely.
type tree struct {
	origin Origin
	fields map[string]*tree // not nil: a map
	leaf   any              // otherwise: anything else, lists included
}

// treeOf builds the tree of a node. A key's origin is the line of the key.
func treeOf(n *yaml.Node, at Origin, p *problems) *tree {
	n = target(n)
	if n.Kind == yaml.MappingNode {
		t := &tree{origin: at, fields: map[string]*tree{}}
		for _, f := range fieldsOf(n) {
			keyAt := Origin{at.File, f.key.Line}
			if f.key.Kind != yaml.ScalarNode {
				p.add(keyAt, "%s cannot be a key; use a string", kindName(f.key))
				continue
			}
			t.fields[f.key.Value] = treeOf(f.value, keyAt, p)
		}
		return t
	}
	return &tree{origin: at, leaf: leafOf(n, at.File, p)}
}

func leafOf(n *yaml.Node, file string, p *problems) any {
	switch n = target(n); n.Kind {
	case yaml.MappingNode:
		return treeOf(n, Origin{file, n.Line}, p).value()
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, element := range n.Content {
			list[i] = leafOf(element, file, p)
		}
		return list
	default:
		v, err := scalarValue(n)
		if err != nil {
			p.add(Origin{file, n.Line}, "%w", err)
		}
		return v
	}
}

// treeFrom builds the tree of a value that came without places: each part takes its place from the
// part of known at the same path, or else from its parent.
func treeFrom(v any, known *tree, at Origin) *tree {
	if known != nil {
		at = known.origin
	}
	m, ok := v.(map[string]any)
	if !ok {
		return &tree{origin: at, leaf: CopyValue(v)}
	}
	t := &tree{origin: at, fields: make(map[string]*tree, len(m))}
	for key, child := range m {
		var knownChild *tree
		if known != nil {
			knownChild = known.fields[key]
		}
		t.fields[key] = treeFrom(child, knownChild, at)
	}
	return t
}

// mergeTrees puts over on top of under: maps merge, anything else replaces, null too (resolution
// rule 7). A map that both set was last set by over. Either may be nil.
func mergeTrees(under, over *tree) *tree {
	switch {
	case over == nil:
		return under
	case under == nil || under.fields == nil || over.fields == nil:
		return over
	}
	merged := &tree{origin: over.origin, fields: maps.Clone(under.fields)}
	for key, child := range over.fields {
		merged.fields[key] = mergeTrees(merged.fields[key], child)
	}
	return merged
}

// value gives a copy without the places; nil for a nil tree.
func (t *tree) value() any {
	if t == nil {
		return nil
	}
	if t.fields == nil {
		return CopyValue(t.leaf)
	}
	m := make(map[string]any, len(t.fields))
	for key, child := range t.fields {
		m[key] = child.value()
	}
	return m
}

// leaves gives the place of every dotted path that is no map, and of empty maps.
func (t *tree) leaves() map[string]Origin {
	found := map[string]Origin{}
	t.addLeaves("", found)
	return found
}

func (t *tree) addLeaves(path string, found map[string]Origin) {
	if t == nil {
		return
	}
	if len(t.fields) == 0 {
		if path != "" {
			found[path] = t.origin
		}
		return
	}
	for key, child := range t.fields {
		child.addLeaves(join(path, key), found)
	}
}

// hydrateTrees puts over on top of under as AICR's CLI does since July when it reads a component's
// values: like mergeTrees, but a null of over deletes the key. In a map that has no other map to
// merge into, it stays.
func hydrateTrees(under, over *tree) *tree {
	switch {
	case over == nil:
		return under
	case under == nil || under.fields == nil || over.fields == nil:
		return over
	}
	merged := &tree{origin: over.origin, fields: maps.Clone(under.fields)}
	for key, child := range over.fields {
		if child.fields == nil && child.leaf == nil {
			delete(merged.fields, key)
			continue
		}
		merged.fields[key] = hydrateTrees(merged.fields[key], child)
	}
	return merged
}

// mapValue is value for a tree that can only be a map.
func (t *tree) mapValue() map[string]any {
	m, _ := t.value().(map[string]any)
	return m
}

// origins gives the place of every dotted path in the tree.
func (t *tree) origins() map[string]Origin {
	found := map[string]Origin{}
	t.addOrigins("", found)
	return found
}

func (t *tree) addOrigins(prefix string, found map[string]Origin) {
	if t == nil {
		return
	}
	// Sorted, because a key with a dot in it can have the path of another key's child.
	for _, key := range slices.Sorted(maps.Keys(t.fields)) {
		child := t.fields[key]
		found[prefix+key] = child.origin
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
