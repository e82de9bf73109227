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
	apiVersion   string // of the document, once header has read it
	apiVersionAt Origin
	notes        []fileNote
}

// fileNote is what a reader of the results has to know about a file that is no problem.
type fileNote struct {
	at   Origin
	text string
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
	case reflect.Map:
		if v.Type() != reflect.TypeFor[map[string]any]() {
			d.fillMap(n, v, where)
			return
		}
		// free form
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

func (d *decoder) fillMap(n *yaml.Node, v reflect.Value, where string) {
	if !d.want(n, yaml.MappingNode, where) {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, f := range fieldsOf(n) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.fill(f.value, element, join(where, f.key.Value))
		v.SetMapIndex(reflect.ValueOf(f.key.Value), element)
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

func (d *decoder) unknownField(key *yaml.Node, where string, names []string) {
	if where == "" {
		where = "the document"
	}
	// A field that has another one's name in it, as preManifestFiles has, is no typing error for that
	// one: its meaning may be the opposite.
	advice := hint(key.Value, slices.DeleteFunc(slices.Clone(names), func(known string) bool {
		return strings.Contains(strings.ToLower(key.Value), strings.ToLower(known))
	}))
	switch {
	case advice != "":
	case generationOf(d.apiVersion) == March:
		advice = "remove it; the fields are " + strings.Join(names, ", ")
	default:
		// To remove it from AICR's own directory would change what AICR deploys.
		advice = "correct it, or use a release of this tool that knows it; the fields are " + strings.Join(names, ", ")
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
	said := func(key string) (string, Origin) {
		for _, f := range fieldsOf(root) {
			if f.key.Value == key {
				return f.value.Value, Origin{d.file, f.key.Line}
			}
		}
		return "", Origin{d.file, root.Line}
	}
	got, at := said("kind")
	if got != kind {
		d.add(at, "kind is %q but must be %q in this place; correct it, or use a release of this tool that knows it", got, kind)
		ok = false
	}
	got, at = said("apiVersion")
	note, known := ReadableVersion(kind, got)
	if !known {
		versions := apiVersions(kind)
		d.add(at, "apiVersion is %q, which %s has in no release of AICR that is known here; write one of %s, or use a release of this tool that knows it", got, article(kind), strings.Join(versions, ", "))
		ok = false
	}
	d.apiVersion, d.apiVersionAt = got, at
	if note != "" {
		d.notes = append(d.notes, fileNote{at, note})
	}
	return ok
}
