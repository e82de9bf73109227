package why

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// fieldBudget bounds the search for the value behind a field: some twenty renderings of the largest
// charts.
const fieldBudget = 15 * time.Second

// rejectedField is the field in an API server's error about an object. Deployers quote the error,
// each after words of its own.
type rejectedField struct {
	kind, name string // of the object; empty if the error does not name it
	path       []string
	text       string // the path as the error has it
	// unfit is the type of its value in JSON, if that is what is wrong.
	unfit string
}

// The API server's errors about fields:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation and the types of
// k8s.io/apimachinery/pkg/util/validation/field.
var (
	invalidObject = regexp.MustCompile(`\b([A-Z]\w*)(?:\.[a-z0-9.-]+)? "([^"]+)" is invalid: `)
	invalidField  = regexp.MustCompile(`([a-z][\w-]*(?:\[[^\]\s]+\]|\.[\w/-]+)*): (?:Invalid value|Required value|Unsupported value|Forbidden|Duplicate value|Not found|Too (?:long|many|few))`)
	unknownField  = regexp.MustCompile(`(?:unknown|dropped) field "([^"]+)"`)
	ofStruct      = regexp.MustCompile(`Go struct field \w+\.([a-z][\w.]*) of type`)
	unfitValue    = regexp.MustCompile(`(?:cannot be handled as an? (\w+): .*)?cannot unmarshal (\w+)(?: \S+)? into`)
	// https://pkg.go.dev/sigs.k8s.io/structured-merge-diff/v6/typed checks what is applied on the server.
	untyped     = regexp.MustCompile(`\s\.([a-z](?:[\w./-]|\[[^\]]*\])*): expected [^,]+, got `)
	typedObject = regexp.MustCompile(`failed to create typed \w+ object \((?:[^/();]*/)?([^/();]+); [^,()]*, Kind=(\w+)\)`)
	notDeclared = regexp.MustCompile(`(?:^|\s)\.([a-z](?:[\w./-]|\[[^\]]*\])*): field not declared in schema`)
)

// readRejectedField finds the first field that an error names; false if it names none.
func readRejectedField(message string) (rejectedField, bool) {
	var f rejectedField
	if m := invalidObject.FindStringSubmatchIndex(message); m != nil {
		f.kind, f.name = message[m[2]:m[3]], message[m[4]:m[5]]
		if at := invalidField.FindStringSubmatch(message[m[1]:]); at != nil {
			f.text = at[1]
		}
	}
	for _, pattern := range []*regexp.Regexp{unknownField, notDeclared, untyped, ofStruct} {
		if at := pattern.FindStringSubmatch(message); f.text == "" && at != nil {
			f.text = at[1]
		}
	}
	if m := typedObject.FindStringSubmatch(message); m != nil {
		f.kind, f.name = m[2], m[1]
	}
	if m := unfitValue.FindStringSubmatch(message); m != nil {
		f.kind, f.unfit = cmp.Or(m[1], f.kind), m[2]
	}
	f.path = fieldPath(f.text)
	if f.kind == "CustomResourceDefinition" && len(f.path) > 2 && f.path[0] == "spec" && f.path[1] == "validation" {
		// Where all versions have one schema, the API server calls it as v1beta1 did.
		f.path = append([]string{"spec", "versions", "0", "schema"}, f.path[2:]...)
	}
	return f, len(f.path) > 1 || f.unfit != ""
}

// TraceField adds to a finding about a rejected field the value of the recipe that decides it, with
// file and line. Other findings, and those with a known place, stay as they are.
func TraceField(ctx context.Context, in bundle.Input, deployer string, f *result.Finding) {
	if f.Place.File != "" || f.Component == "" {
		return
	}
	field, ok := readRejectedField(f.Cause)
	if !ok {
		return
	}
	i := slices.IndexFunc(in.Components, func(c recipe.Component) bool { return c.Name == f.Component })
	if i < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fieldBudget)
	defer cancel()
	s := fieldSearch{ctx: ctx, in: in, deployer: deployer, component: &in.Components[i], field: field}
	path, ok := s.run()
	if !ok {
		return
	}
	v := s.source(path)
	f.Place = result.Place{File: v.Origin.File, Line: v.Origin.Line, Path: path}
	f.Story = append(f.Story, fmt.Sprintf("%s: %s", field.text, setText(v)))
}

// fieldSearch finds the one value that decides the rejected field, by leaving out values of the
// recipe: half of the remaining ones in each step.
type fieldSearch struct {
	ctx       context.Context
	in        bundle.Input
	deployer  string
	component *recipe.Component
	field     rejectedField
	fromChart bool // paths are those of the chart's default values

	target *unstructured.Unstructured
	// read returns the rejected field of the target, or the nearest existing one above it; value is
	// its content.
	read  func(*unstructured.Unstructured) (any, bool)
	value any
}

func (s *fieldSearch) run() (string, bool) {
	objects, err := s.in.Rerender(s.ctx, s.deployer, s.component.Name, func(map[string]any) {})
	if err != nil || !s.locate(objects) {
		return "", false
	}
	if path, ok := s.among(); ok {
		return path, true
	}
	return s.amongDefaults()
}

// source is the value of a path that was found, with its place: that of the component for a default of its chart.
func (s *fieldSearch) source(path string) bundle.SteeringSource {
	v := bundle.SteeringSource{Path: path, Origin: s.component.Origins[path], Default: s.fromChart}
	if v.Default {
		v.Origin = s.component.Declared
	}
	return v
}

// setText says what sets a value.
func setText(v bundle.SteeringSource) string {
	if v.Default {
		return fmt.Sprintf("value path %s, a default of the chart, which the component can set (declared in %s)", v.Path, v.Origin)
	}
	return fmt.Sprintf("value path %s, set in %s", v.Path, v.Origin)
}

// among finds the value once the field is known.
func (s *fieldSearch) among() (string, bool) {
	leaves := leafPaths(s.component)
	// A value often has the same name as the field.
	slices.SortStableFunc(leaves, func(a, b string) int { return s.likeness(b) - s.likeness(a) })
	if len(leaves) > 0 && s.likeness(leaves[0]) > 0 && s.decides(leaves[:1]) {
		return leaves[0], true
	}
	return s.search(leaves)
}

// likeness counts the last parts that a value path and the field have in common.
func (s *fieldSearch) likeness(path string) int {
	parts, n := strings.Split(path, "."), 0
	for n < len(parts) && n < len(s.field.path) && strings.EqualFold(parts[len(parts)-1-n], s.field.path[len(s.field.path)-1-n]) {
		n++
	}
	return n
}

// search halves the candidates. A chart that cannot be rendered without one half may render without
// the other.
func (s *fieldSearch) search(leaves []string) (string, bool) {
	if len(leaves) == 0 || s.ctx.Err() != nil || !s.decides(leaves) {
		return "", false
	}
	if len(leaves) == 1 {
		return leaves[0], true
	}
	for _, half := range [][]string{leaves[:len(leaves)/2], leaves[len(leaves)/2:]} {
		if path, ok := s.search(half); ok {
			return path, true
		}
	}
	return "", false
}

// decides reports whether the field changes without these values. If the chart cannot be rendered
// without them, they may decide it. A single value that a chart requires is changed instead.
func (s *fieldSearch) decides(leaves []string) bool {
	changed, err := s.changes(leaves, func(any) (any, bool) { return nil, false })
	if err != nil && len(leaves) == 1 {
		changed, err = s.changes(leaves, another)
		return err == nil && changed
	}
	return err != nil || changed
}

// changes reports whether the field differs with the values that replace returns; false as its
// second result leaves a value out.
func (s *fieldSearch) changes(leaves []string, replace func(any) (any, bool)) (bool, error) {
	value, found, err := s.rendered(leaves, replace)
	return err == nil && (!found || !reflect.DeepEqual(value, s.value)), err
}

// rendered is the field with the values that replace returns; false without it.
func (s *fieldSearch) rendered(leaves []string, replace func(any) (any, bool)) (value any, found bool, err error) {
	objects, err := s.in.Rerender(s.ctx, s.deployer, s.component.Name, func(values map[string]any) {
		for _, path := range leaves {
			if parts := strings.Split(path, "."); s.fromChart {
				value, _ := replace(nil)
				putDefault(values, parts, value)
			} else {
				replaceValue(values, parts, replace)
			}
		}
	})
	if err != nil {
		return nil, false, err
	}
	for _, o := range objects {
		if sameObject(o, s.target) {
			value, found = s.read(o)
			return value, found, nil
		}
	}
	return nil, false, nil
}

// fixed tries the edits that a value allows: whether the field stays without it, and whether it has another
// value than the one that is written there, e.g. of a part of it or of a switch.
func (s *fieldSearch) fixed(path string) (key, value bool) {
	const other = "aicr-action-other"
	_, found, err := s.rendered([]string{path}, func(any) (any, bool) { return nil, false })
	key = err != nil || found
	now, _, err := s.rendered([]string{path}, func(any) (any, bool) { return other, true })
	return key, err != nil || !hasText(now, other)
}

// hasText reports whether a text is among the values in v.
func hasText(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return hasText(item, text) })
	case map[string]any:
		for _, item := range v {
			if hasText(item, text) {
				return true
			}
		}
	}
	return false
}

// another returns a different value of the same type.
func another(v any) (any, bool) {
	switch x := v.(type) {
	case string:
		return x + "x", true
	case bool:
		return !x, true
	case int64:
		return x + 1, true
	case float64:
		return x + 1, true
	}
	return v, true
}

func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GetKind() == b.GetKind() && a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace() && a.GroupVersionKind().Group == b.GroupVersionKind().Group
}

// locate finds the object and the field of the error. If the error names no object, it is the one
// that has the field.
func (s *fieldSearch) locate(objects []*unstructured.Unstructured) bool {
	for _, o := range objects {
		if s.field.name != "" && (o.GetName() != s.field.name || o.GetKind() != s.field.kind) {
			continue
		}
		if s.field.kind != "" && o.GetKind() != s.field.kind {
			continue
		}
		path := s.field.in(o)
		for n := len(path); n > 1; n-- {
			if value, found := valueAt(o.Object, path[:n]); found && (s.field.unfit == "" || n == len(path) && typeInJSON(value) == s.field.unfit) {
				at := path[:n]
				s.target, s.value = o, value
				s.read = func(o *unstructured.Unstructured) (any, bool) { return valueAt(o.Object, at) }
				return true
			}
			if s.field.name == "" {
				break // without a name only the field itself decides
			}
		}
	}
	return false
}

// leafPaths returns the value paths that files of the recipe set and that have nothing below them.
// Keys that contain dots are left out.
func leafPaths(c *recipe.Component) []string {
	var leaves []string
	for path := range c.Origins {
		v, found := valueAt(any(c.Values), strings.Split(path, "."))
		if m, isMap := v.(map[string]any); found && (!isMap || len(m) == 0) {
			leaves = append(leaves, path)
		}
	}
	slices.Sort(leaves)
	return leaves
}

// replaceValue replaces one value, or removes it as if its line did not exist.
func replaceValue(values map[string]any, path []string, replace func(any) (any, bool)) {
	for _, p := range path[:len(path)-1] {
		next, ok := values[p].(map[string]any)
		if !ok {
			return
		}
		values = next
	}
	last := path[len(path)-1]
	old, ok := values[last]
	if !ok {
		return
	}
	if value, keep := replace(old); keep {
		values[last] = value
	} else {
		delete(values, last)
	}
}
