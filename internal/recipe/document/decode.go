package document

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
	"go.yaml.in/yaml/v3"
)

// Decoder fills Go values from YAML nodes. The YAML library can refuse unknown fields too, but
// stops short of what a person needs to fix them: the exact line of each, and what was probably
// meant.
type Decoder struct {
	// File is how messages call it.
	File string
	// Lenient: a field that is not known is a note, unless it is a near miss of one that is.
	Lenient bool
	Problems
	// APIVersion of the document, once Header has read it, and its place.
	APIVersion   string
	APIVersionAt Origin
	// Notes are not problems.
	Notes []Note
}

// Note is what a reader of the results has to know about a file that is no problem.
type Note struct {
	At   Origin
	Text string
}

// Lines are notes for people: those of one text are one, with a count and three places.
func Lines(notes []Note) []string {
	places := map[string][]Origin{}
	for _, n := range notes {
		places[n.Text] = append(places[n.Text], n.At)
	}
	var lines []string
	for _, text := range slices.Sorted(maps.Keys(places)) {
		count := ""
		if n := len(places[text]); n > 3 {
			count = fmt.Sprintf("%d places: ", n)
		}
		lines = append(lines, text+" ("+count+listPlaces(places[text])+")")
	}
	return lines
}

// Decode fills out, a pointer to a struct with json tags. where is the path of n in the document,
// for messages.
func (d *Decoder) Decode(n *yaml.Node, out any, where string) {
	d.fill(n, reflect.ValueOf(out).Elem(), where)
}

func (d *Decoder) fill(n *yaml.Node, v reflect.Value, where string) {
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
			v.Set(reflect.ValueOf(TreeOf(n, d.At(n), &d.Problems).MapValue()))
		}
	case reflect.String:
		// Any scalar, as it is written: an unquoted version 1.30 means 1.30, not 1.3.
		if d.want(n, yaml.ScalarNode, where) {
			v.SetString(n.Value)
		}
	case reflect.Bool:
		if n.ShortTag() != "!!bool" || n.Decode(v.Addr().Interface()) != nil {
			d.Add(d.At(n), "%s must be true or false, not %s; correct it", where, KindName(n))
		}
	case reflect.Int:
		if n.ShortTag() != "!!int" || n.Decode(v.Addr().Interface()) != nil {
			d.Add(d.At(n), "%s must be a whole number, not %s; correct it", where, KindName(n))
		}
	default:
		panic(fmt.Sprintf("recipe: documents have no %s", v.Type())) // a mistake in this package's types, found by any test
	}
}

func (d *Decoder) fillMap(n *yaml.Node, v reflect.Value, where string) {
	if !d.want(n, yaml.MappingNode, where) {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, f := range fieldsOf(n) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.fill(f.value, element, Join(where, f.key.Value))
		v.SetMapIndex(reflect.ValueOf(f.key.Value), element)
	}
}

func (d *Decoder) fillStruct(n *yaml.Node, v reflect.Value, where string) {
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
		Target, ok := known[f.key.Value]
		if !ok {
			d.unknownField(n, f.key, where, names)
			continue
		}
		d.fill(f.value, Target, Join(where, f.key.Value))
	}
}

// within reports whether a field has another one's name in it, and more.
func within(field, known string) bool {
	return len(field) > len(known) && strings.Contains(strings.ToLower(field), strings.ToLower(known))
}

// nearMiss is the name that a field is probably meant to be: one edit away, or two of a longer word.
func nearMiss(field string, names []string) string {
	if len(field) < 6 {
		return lists.Within(field, names, 1)
	}
	return lists.Within(field, names, 2)
}

// Foreign reports whether a document is of a kind that is not known here, with a note about it. One of a known kind, or
// of a near miss of one, is not.
func (d *Decoder) Foreign(root *yaml.Node) bool {
	if !d.Lenient || root == nil {
		return false
	}
	n := NodeAt(root, "kind")
	known := append([]string{OverlayKind, MixinKind, RegistryKind, ResultKind, UpgradesKind, ConfigKind, snapshotKind}, CriteriaKinds...)
	if n == nil || !kindName.MatchString(n.Value) || nearMiss(n.Value, known) != "" {
		return false
	}
	d.Notes = append(d.Notes, Note{d.At(n), fmt.Sprintf("documents of the kind %s are not known to this release here, and were left out; they may change what is deployed: with AICR's own CLI as the bundler, its bundle decides", n.Value)})
	return true
}

// kindName is what a kind can be called. Another text is a mistake, or somebody's who means to be read as more than a name.
var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// fieldName is what a field of a format can be called.
var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)

// index is that of an item in a path, which does not count where many items have the same field.
var index = regexp.MustCompile(`\[[0-9]+\]`)

func (d *Decoder) unknownField(n, key *yaml.Node, where string, names []string) {
	if near := nearMiss(key.Value, names); d.Lenient && fieldName.MatchString(key.Value) && (near == "" || NodeAt(n, near) != nil || within(key.Value, near)) {
		d.Notes = append(d.Notes, Note{d.At(key), fmt.Sprintf("field %s is not known to this release, and was left out; it may change what is deployed: with AICR's own CLI as the bundler, its bundle decides", Join(index.ReplaceAllString(where, "[]"), key.Value))})
		return
	}
	if where == "" {
		where = "the document"
	}
	// A field that has another one's name in it, as preManifestFiles has, is no typing error for that
	// one: its meaning may be the opposite.
	advice := lists.Hint(key.Value, slices.DeleteFunc(slices.Clone(names), func(known string) bool {
		return within(key.Value, known)
	}))
	switch {
	case advice != "":
	case GenerationOf(d.APIVersion) == March:
		advice = "remove it; the fields are " + strings.Join(names, ", ")
	default:
		// To remove it from AICR's own directory would change what AICR deploys.
		advice = "correct it, or use a release of this tool that knows it; the fields are " + strings.Join(names, ", ")
	}
	d.Add(d.At(key), "unknown field %q in %s: %s", key.Value, where, advice)
}

func (d *Decoder) want(n *yaml.Node, kind yaml.Kind, where string) bool {
	if n.Kind == kind {
		return true
	}
	d.Add(d.At(n), "%s must be %s, not %s; correct it", where, map[yaml.Kind]string{
		yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a string",
	}[kind], KindName(n))
	return false
}

// At is the place of a node.
func (d *Decoder) At(n *yaml.Node) Origin { return Origin{File: d.File, Line: n.Line} }

// Join makes the dotted path of a key below a path, which may be empty.
func Join(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

// Header checks what kind of document a file is. Only if it is the right one are complaints about
// its fields of any use.
func (d *Decoder) Header(root *yaml.Node, kind string) bool {
	if root == nil {
		d.Add(Origin{File: d.File}, "the file is empty; write a %s document or remove the file", kind)
		return false
	}
	if root.Kind != yaml.MappingNode {
		d.Add(d.At(root), "the document must be a %s mapping, not %s; correct it", kind, KindName(root))
		return false
	}
	ok := true
	said := func(key string) (string, Origin) {
		for _, f := range fieldsOf(root) {
			if f.key.Value == key {
				return f.value.Value, Origin{File: d.File, Line: f.key.Line}
			}
		}
		return "", Origin{File: d.File, Line: root.Line}
	}
	got, at := said("kind")
	if got != kind {
		d.Add(at, "kind is %q but must be %q in this place; correct it, or use a release of this tool that knows it", got, kind)
		ok = false
	}
	got, at = said("apiVersion")
	note, known := ReadableVersion(kind, got)
	if !known {
		versions := ApiVersions(kind)
		d.Add(at, "apiVersion is %q, which %s has in no release of AICR that is known here; write one of %s, or use a release of this tool that knows it", got, article(kind), strings.Join(versions, ", "))
		ok = false
	}
	d.APIVersion, d.APIVersionAt = got, at
	if note != "" {
		d.Notes = append(d.Notes, Note{at, note})
	}
	return ok
}

// article puts a or an before a noun.
func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}
