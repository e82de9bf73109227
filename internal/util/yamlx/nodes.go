package yamlx

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Find returns the node at a path of keys, or nil.
func Find(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n != nil && n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var next *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next = n.Content[i+1]
			}
		}
		n = next
	}
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// Text returns the scalar at a path of keys, or "".
func Text(n *yaml.Node, keys ...string) string {
	if n = Find(n, keys...); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// LineOf is the line of the node at a path of keys, or of the nearest one above it.
func LineOf(n *yaml.Node, keys ...string) int {
	for ; len(keys) > 0; keys = keys[:len(keys)-1] {
		if found := Find(n, keys...); found != nil {
			return found.Line
		}
	}
	return n.Line
}

// Keys are the keys of a mapping, in its order.
func Keys(n *yaml.Node) []string {
	var keys []string
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			keys = append(keys, n.Content[i].Value)
		}
	}
	return keys
}

// Set writes a scalar with this tag under a key of a mapping, over what is there.
func Set(n *yaml.Node, key, tag, value string) {
	Drop(n, key)
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value})
}

// Drop removes a key of a mapping, with its value.
func Drop(n *yaml.Node, key string) {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// Encode writes documents.
func Encode(docs []*yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, d := range docs {
		if err := e.Encode(d); err != nil {
			return nil, err
		}
	}
	err := e.Close()
	return b.Bytes(), err
}

// Clone copies a node with all below it.
func Clone(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = Clone(child)
	}
	return &c
}
