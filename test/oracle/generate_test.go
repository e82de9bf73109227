package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A library for generated tests (rapid, Go's fuzzing) asks about one value at a time. The programs here answer hundreds at
// once in the time of one, so inputs are made, asked and made smaller by the hundred.

// schema is one of the API server's OpenAPI schema.
type schema struct {
	Ref         string            `json:"$ref"`
	AllOf       []schema          `json:"allOf"`
	OneOf       []schema          `json:"oneOf"`
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Enum        []any             `json:"enum"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Additional  *schema           `json:"additionalProperties"`
	Required    []string          `json:"required"`
	Description string            `json:"description"`

	name string
}

// schemas are those of all kinds, by their names.
type schemas map[string]schema

// readSchemas reads the files that Kubernetes' module has of what its API server serves.
func readSchemas(dir string) (schemas, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*__v*_openapi.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no OpenAPI schema of Kubernetes: %w", dir, os.ErrNotExist)
	}
	all := schemas{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var doc struct {
			Components struct {
				Schemas map[string]schema `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(raw, &doc); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for name, s := range doc.Components.Schemas {
			s.name = name
			all[name] = s
		}
	}
	return all, nil
}

// follow is the schema that a reference leads to.
func (all schemas) follow(s schema) schema {
	for len(s.AllOf) == 1 {
		s = s.AllOf[0]
	}
	if s.Ref != "" {
		return all[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

// kind is the schema of an object; nil for a kind that is not Kubernetes' own.
func (all schemas) kind(o map[string]any) *schema {
	group, version, grouped := strings.Cut(fmt.Sprint(o["apiVersion"]), "/")
	if !grouped {
		group, version = "core", group
	}
	end := fmt.Sprintf(".%s.%s.%v", strings.Split(group, ".")[0], version, o["kind"])
	for name, s := range all {
		if strings.HasPrefix(name, "io.k8s.api.") && strings.HasSuffix(name, end) {
			return &s
		}
	}
	return nil
}

// generator makes inputs from other inputs.
type generator struct {
	*rand.Rand
	all schemas
	// seen are the values that fields had in the cases of checks, by the schema's name and the field: checks read those.
	seen map[string][]any
	// hard are values by the field's name that programs take in their own way.
	hard map[string][]any
}

func newGenerator(seed uint64, all schemas, from []input) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), all: all, seen: map[string][]any{}, hard: hardValues()}
	for _, in := range from {
		for _, o := range in.all() {
			if s := all.kind(o); s != nil {
				g.learn(o, *s)
			}
		}
	}
	return g
}

func (g *generator) learn(v any, s schema) {
	s = g.all.follow(s)
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			p, ok := s.Properties[k]
			if !ok {
				if s.Additional != nil {
					g.learn(v[k], *s.Additional)
				}
				continue
			}
			key := s.name + "." + k
			if !slices.ContainsFunc(g.seen[key], func(o any) bool { return same(o, v[k]) }) {
				g.seen[key] = append(g.seen[key], v[k])
			}
			g.learn(v[k], p)
		}
	case []any:
		for _, item := range v {
			if s.Items != nil {
				g.learn(item, *s.Items)
			}
		}
	}
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// place is a value in an object that can be put, by its schema.
type place struct {
	parent any // a map or a list
	key    string
	index  int
	schema schema // of the value
	owner  string // the schema that has the field
}

func (p place) value() any {
	if m, ok := p.parent.(map[string]any); ok {
		return m[p.key]
	}
	return p.parent.([]any)[p.index]
}

func (p place) put(v any) {
	if m, ok := p.parent.(map[string]any); ok {
		m[p.key] = v
		return
	}
	p.parent.([]any)[p.index] = v
}

// places are all values of an object, but those that say what it is.
func (g *generator) places(v any, s schema, all []place) []place {
	s = g.all.follow(s)
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			p, ok := s.Properties[k]
			if !ok && s.Additional != nil {
				p, ok = *s.Additional, true
			}
			if !ok || k == "apiVersion" || k == "kind" || k == "status" || k == "metadata" && strings.HasPrefix(s.name, "io.k8s.api.") && s.Properties["kind"].Type != "" {
				continue
			}
			all = append(all, place{parent: v, key: k, schema: p, owner: s.name})
			all = g.places(v[k], p, all)
		}
	case []any:
		for i := range v {
			if s.Items != nil {
				all = append(all, place{parent: v, index: i, schema: *s.Items})
				all = g.places(v[i], *s.Items, all)
			}
		}
	}
	return all
}

// mutated is an input with one thing changed, and what that is; false if nothing could be.
func (g *generator) mutated(in input) (input, bool) {
	out := in.copy()
	objects := out.all()
	o := objects[0]
	if g.IntN(4) == 0 {
		o = objects[g.IntN(len(objects))]
	}
	s := g.all.kind(o)
	if s == nil {
		return in, false
	}
	places := g.places(o, *s, nil)
	if len(places) == 0 {
		return in, false
	}
	p := places[g.IntN(len(places))]
	what := ""
	switch of := g.all.follow(p.schema); g.IntN(6) {
	case 0:
		what = "without " + p.name()
		g.drop(o, p)
	case 1, 2:
		if m, ok := p.value().(map[string]any); ok && len(of.Properties) > 0 {
			field := g.field(of)
			m[field] = g.make(of.Properties[field], of.name, field, 0)
			what = fmt.Sprintf("%s.%s: %s", p.name(), field, short(m[field]))
			break
		}
		fallthrough
	case 3:
		if list, ok := p.value().([]any); ok && len(list) > 0 {
			item := list[g.IntN(len(list))]
			if g.IntN(2) == 0 && of.Items != nil {
				item = g.make(*of.Items, p.owner, p.key, 0)
			}
			p.put(append(slices.Clone(list), deepCopy(item)))
			what = "one more in " + p.name()
			break
		}
		fallthrough
	case 4:
		if other := g.name(objects, p); other != nil {
			p.put(other)
			what = fmt.Sprintf("%s: %s", p.name(), short(other))
			break
		}
		fallthrough
	default:
		v := g.make(p.schema, p.owner, p.key, 0)
		if same(v, p.value()) {
			return in, false
		}
		p.put(v)
		what = fmt.Sprintf("%s: %s", p.name(), short(v))
	}
	out.From += "; " + what
	return out, true
}

func (p place) name() string {
	if p.key == "" {
		return fmt.Sprintf("[%d]", p.index)
	}
	return p.key
}

func short(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw[:min(len(raw), 60)])
}

// drop removes a value from what has it.
func (g *generator) drop(o map[string]any, p place) {
	if m, ok := p.parent.(map[string]any); ok {
		delete(m, p.key)
		return
	}
	list := p.parent.([]any)
	for _, of := range g.places(o, *g.all.kind(o), nil) {
		if l, ok := of.value().([]any); ok && len(l) == len(list) && &l[0] == &list[0] {
			of.put(slices.Delete(slices.Clone(l), p.index, p.index+1))
			return
		}
	}
}

// field is one of a type, most often one that a case of a check has.
func (g *generator) field(s schema) string {
	all := slices.Sorted(maps.Keys(s.Properties))
	var known []string
	for _, k := range all {
		if len(g.seen[s.name+"."+k])+len(g.hard[k]) > 0 {
			known = append(known, k)
		}
	}
	if len(known) > 0 && g.IntN(4) > 0 {
		return known[g.IntN(len(known))]
	}
	return all[g.IntN(len(all))]
}

// name is another text of the input for a field that has one: so that references lead elsewhere.
func (g *generator) name(objects []map[string]any, p place) any {
	have, ok := p.value().(string)
	if !ok || p.key == "" {
		return nil
	}
	var others []string
	for _, o := range objects {
		if s := g.all.kind(o); s != nil {
			for _, q := range g.places(o, *s, nil) {
				if text, ok := q.value().(string); ok && text != have && len(text) < 64 {
					others = append(others, text)
				}
				if _, ok := q.parent.(map[string]any); ok && g.all.follow(q.schema).name == "" && q.owner != "" {
					if _, field := g.all[q.owner].Properties[q.key]; !field {
						others = append(others, q.key) // a key of data
					}
				}
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	return others[g.IntN(len(others))]
}

// make makes a value for a field.
func (g *generator) make(s schema, owner, field string, depth int) any {
	if known := slices.Concat(g.seen[owner+"."+field], g.hard[field]); len(known) > 0 && g.IntN(10) < 7 {
		return deepCopy(known[g.IntN(len(known))])
	}
	s = g.all.follow(s)
	if len(s.OneOf) > 0 { // a number or a text
		s = s.OneOf[g.IntN(len(s.OneOf))]
	}
	if len(s.Enum) > 0 {
		return s.Enum[g.IntN(len(s.Enum))]
	}
	switch {
	case s.Type == "boolean":
		return g.IntN(2) == 0
	case s.Type == "integer":
		return []int64{0, 1, 2, 80, 1000, 65535, 65536, -1}[g.IntN(8)]
	case s.Type == "number":
		return []any{int64(0), int64(1), "100m", "1Gi"}[g.IntN(4)]
	case s.Type == "array" && s.Items != nil:
		if depth > 5 {
			return []any{}
		}
		return []any{g.make(*s.Items, owner, field, depth+1)}
	case len(s.Properties) > 0:
		m := map[string]any{}
		for _, k := range s.Required {
			m[k] = g.make(s.Properties[k], s.name, k, depth+1)
		}
		for range g.IntN(3) {
			if k := g.field(s); depth < 5 {
				m[k] = g.make(s.Properties[k], s.name, k, depth+1)
			}
		}
		return m
	case s.Additional != nil:
		return map[string]any{[]string{"a", "a/b", "cpu"}[g.IntN(3)]: g.make(*s.Additional, owner, field, depth+1)}
	case strings.HasSuffix(s.name, "Quantity"):
		return []any{"1", "100m", "1Gi", "0", "-1"}[g.IntN(5)]
	case s.Type == "object":
		return map[string]any{}
	}
	return []any{"a", "", "a/b", "A_b", "../a", "1", "true", strings.Repeat("x", 64)}[g.IntN(8)]
}

func deepCopy(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := utiljson.Unmarshal([]byte(`[`+string(raw)+`]`), &out); err != nil { // whole numbers stay whole
		panic(err)
	}
	return out.([]any)[0]
}
