package document

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// ParseYAML gives the root node of a file with one YAML document; nil if the document is empty.
func ParseYAML(file string, data []byte) (*yaml.Node, []*FileError) {
	docs, err := yamlx.Documents(data)
	switch {
	case len(docs) > 1:
		return nil, []*FileError{ErrorAt(Origin{File: file, Line: docs[1].Line}, "a second YAML document starts here, and only the first would be used; keep one document in the file")}
	case err != nil:
		return nil, yamlErrors(file, err)
	case len(docs) == 0:
		return nil, nil
	}
	doc := docs[0]
	// The library's own decoder refuses what walking the nodes would not: repeated keys, for one.
	var discard any
	if err := doc.Decode(&discard); err != nil {
		return nil, yamlErrors(file, err)
	}
	root := doc.Content[0]
	if root.ShortTag() == "!!null" {
		return nil, nil
	}
	return root, nil
}

// yamlErrors gives the library's messages their place.
func yamlErrors(file string, err error) []*FileError {
	var found []*FileError
	for _, p := range yamlx.Problems(err) {
		found = append(found, ErrorAt(Origin{File: file, Line: p.Line}, "malformed YAML: %s; correct it", p.Text))
	}
	return found
}

// entry is one entry of a mapping.
type entry struct {
	key, value *yaml.Node
}

// fieldsOf gives the entries of a mapping in the order of the file, with merge keys (<<) expanded
// after the mapping's own.
func fieldsOf(n *yaml.Node) []entry {
	n = target(n)
	var own, merged []entry
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], target(n.Content[i+1])
		if key.ShortTag() != "!!merge" {
			own = append(own, entry{key, value})
			seen[key.Value] = true
			continue
		}
		sources := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			sources = value.Content
		}
		for _, source := range sources {
			merged = append(merged, fieldsOf(source)...)
		}
	}
	for _, f := range merged {
		if !seen[f.key.Value] {
			own = append(own, f)
			seen[f.key.Value] = true
		}
	}
	return own
}

// target follows an alias to what it stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// LineOf gives the line of a nested key or list element: strings are keys, ints are indices. Where
// the way ends early, it is the line of the last step that exists.
func LineOf(n *yaml.Node, steps ...any) int {
	line, _ := walk(n, steps)
	return line
}

// NodeAt returns the value at the end of the steps, or nil.
func NodeAt(n *yaml.Node, steps ...any) *yaml.Node {
	_, n = walk(n, steps)
	return n
}

func walk(n *yaml.Node, steps []any) (line int, _ *yaml.Node) {
	n = target(n)
	line = n.Line
	for _, step := range steps {
		var next *yaml.Node
		switch step := step.(type) {
		case string:
			if n.Kind != yaml.MappingNode {
				return line, nil
			}
			for _, f := range fieldsOf(n) {
				if f.key.Value == step {
					next, line = f.value, f.key.Line
				}
			}
		case int:
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				line, next = n.Content[step].Line, target(n.Content[step])
			}
		}
		if next == nil {
			return line, nil
		}
		n = next
	}
	return line, n
}

// scalarValue gives a scalar as JSON has it: nil, bool, int64, float64 or string. Dates are
// strings, as they are for Helm.
func scalarValue(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var v bool
		err := n.Decode(&v)
		return v, err
	case "!!int":
		var v int64
		if err := n.Decode(&v); err == nil {
			return v, nil
		}
		var f float64 // what an integer of that size is in JSON
		err := n.Decode(&f)
		return f, err
	case "!!float":
		var v float64
		if err := n.Decode(&v); err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, fmt.Errorf("the number %s has no form in JSON, which values have to pass through; quote it if it is text", n.Value)
		}
		return v, nil
	default:
		return n.Value, nil
	}
}

// KindName says what a node is, for people.
func KindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		if tag := n.ShortTag(); tag != "!!str" && len(tag) > 2 {
			return "a value of type " + tag[2:]
		}
		return "a string"
	}
}
