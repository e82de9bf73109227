package recipe

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder fills Go values from YAML nodes. The YAML library can refuse unknown fields too, but
// stops short of what a person needs to fix them: the exact line of each, and what was probably
// meant.
type decoder struct {
	file string
	problems
}

// decode fills out, a pointer to a struct with json tags. where is the path of n in the document,
// for messages.
func (d *decoder) decode(n *yaml.Node, out any, where string) {
	d.fill(n, reflect.ValueOf(out).Elem(), where)
}

func (d *decoder) fill(n *yaml.Node, v reflect.Value, where string) {
	n = target(n)
	// A key without a value is the same as no key, so that a block can be commented out.
	if n.ShortTag() == "!!null" {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.fill(n, v.Elem(), where)
	case reflect.Struct:
		if d.want(n, yaml.MappingNode, where) {
			d.fillStruct(n, v, where)
		}
	case reflect.Slice:
		if !d.want(n, yaml.SequenceNode, where) {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, element := range n.Content {
			d.fill(element, v.Index(i), fmt.Sprintf("%s[%d]", where, i))
		}
	case reflect.Map: // free form: map[string]any
		if d.want(n, yaml.MappingNode, where) {
			v.Set(reflect.ValueOf(treeOf(n, d.at(n), &d.problems).mapValue()))
		}
	case reflect.String:
		// Any scalar, as it is written: an unquoted version 1.30 means 1.30, not 1.3.
		if d.want(n, yaml.ScalarNode, where) {
			v.SetString(n.Value)
		}
	case reflect.Bool:
		if n.ShortTag() != "!!bool" || n.Decode(v.Addr().Interface()) != nil {
			d.add(d.at(n), "%s must be true or false, not %s; correct it", where, kindName(n))
		}
	case reflect.Int:
		if n.ShortTag() != "!!int" || n.Decode(v.Addr().Interface()) != nil {
			d.add(d.at(n), "%s must be a whole number, not %s; correct it", where, kindName(n))
		}
	default:
		panic(fmt.Sprintf("recipe: documents have no %s", v.Type())) // a mistake in this package's types, found by any test
	}
}

func (d *decoder) fillStruct(n *yaml.Node, v reflect.Value, where string) {
	known := map[string]reflect.Value{}
	var names []string
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name != "-" { // which is no document's
			known[name], names = v.Field(i), append(names, name)
		}
	}
	slices.Sort(names)
	for _, f := range fieldsOf(n) {
		target, ok := known[f.key.Value]
		if !ok {
			d.unknownField(f.key, where, names)
			continue
		}
		d.fill(f.value, target, join(where, f.key.Value))
	}
}

// laterFields are those that AICR has added, and that this package does not have yet: an overlay's
// profiles, and what of the components before it a mixin may change.
var laterFields = map[string]bool{"profile": true, "mixinSafeOverridePaths": true}

func (d *decoder) unknownField(key *yaml.Node, where string, names []string) {
	if where == "" {
		where = "the document"
	}
	advice := hint(key.Value, names)
	switch {
	case laterFields[key.Value]:
		// To remove it from AICR's own directory would change what AICR deploys, and so would
		// reading over it.
		advice = "a later release of AICR has it, and it decides what is deployed; use a release of this tool that knows it"
	case advice == "":
		advice = "remove it; the fields are " + strings.Join(names, ", ")
	}
	d.add(d.at(key), "unknown field %q in %s: %s", key.Value, where, advice)
}

func (d *decoder) want(n *yaml.Node, kind yaml.Kind, where string) bool {
	if n.Kind == kind {
		return true
	}
	d.add(d.at(n), "%s must be %s, not %s; correct it", where, map[yaml.Kind]string{
		yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a string",
	}[kind], kindName(n))
	return false
}

func (d *decoder) at(n *yaml.Node) Origin { return Origin{d.file, n.Line} }

func join(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

// header checks what kind of document a file is. Only if it is the right one are complaints about
// its fields of any use.
func (d *decoder) header(root *yaml.Node, kind string) bool {
	if root == nil {
		d.add(Origin{File: d.file}, "the file is empty; write a %s document or remove the file", kind)
		return false
	}
	if root.Kind != yaml.MappingNode {
		d.add(d.at(root), "the document must be a %s mapping, not %s; correct it", kind, kindName(root))
		return false
	}
	ok := true
	for _, want := range []struct{ key, value string }{{"kind", kind}, {"apiVersion", APIVersion}} {
		got, line := "", root.Line
		for _, f := range fieldsOf(root) {
			if f.key.Value == want.key {
				got, line = f.value.Value, f.key.Line
			}
		}
		if got != want.value {
			d.add(Origin{d.file, line}, "%s is %q but must be %q in this place; correct it, or use a release of this tool that knows it", want.key, got, want.value)
			ok = false
		}
	}
	return ok
}
