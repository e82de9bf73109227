package yamlx

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DecodeNode fills out, a pointer, from a node, as DecodeStrict does from a text: unknown fields
// are complaints too, each with its line in the file that the node is from. Keys of maps, and
// fields of type yaml.Node, are free.
func DecodeNode(n *yaml.Node, out any) []Problem {
	all := unknownFields(n, reflect.TypeOf(out).Elem())
	if err := n.Decode(out); err != nil {
		all = append(all, Problems(err)...)
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return a.Line - b.Line })
	return all
}

func unknownFields(n *yaml.Node, t reflect.Type) []Problem {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[yaml.Node]() {
		return nil // the type keeps the node, and its user checks it
	}
	var all []Problem
	switch {
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for _, child := range n.Content {
			all = append(all, unknownFields(child, t.Elem())...)
		}
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		fields, names := fieldsOf(t)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			field, ok := fields[key.Value]
			if !ok && key.Value != "<<" {
				all = append(all, Problem{Line: key.Line, Text: fmt.Sprintf("unknown field %q; there are: %s", key.Value, strings.Join(names, ", "))})
			} else if ok {
				all = append(all, unknownFields(n.Content[i+1], field)...)
			}
		}
	}
	return all
}

// fieldsOf are the fields of a struct by their names in YAML, with those of inlined structs, and
// these names in order.
func fieldsOf(t reflect.Type) (map[string]reflect.Type, []string) {
	fields := map[string]reflect.Type{}
	var names []string
	for i := range t.NumField() {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if option == "inline" {
			inner, order := fieldsOf(t.Field(i).Type)
			maps.Copy(fields, inner)
			names = append(names, order...)
		} else if name != "" && name != "-" {
			fields[name] = t.Field(i).Type
			names = append(names, name)
		}
	}
	return fields, names
}
