package adjust

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// mostValue is the largest file of --set-file, in bytes.
const mostValue = 10 << 20

// Typed is one value of --set-json or --set-file, of any type: COMPONENT:PATH=VALUE.
type Typed struct {
	flag, text string // --set-json or --set-file, and what was given
	key        string
	path       []string
	value      any
}

// ParseTyped reads values of --set-json, COMPONENT:PATH=JSON, and of --set-file, COMPONENT:PATH=FILE
// with a value in YAML or JSON. They are given in the order in which they apply: a deeper path after
// a shorter one, and of one path what is in a file before what is written out.
func ParseTyped(jsons, files []string) ([]Typed, error) {
	var all []Typed
	for _, list := range []struct {
		flag, form string
		texts      []string
		read       func(string) (any, error)
	}{{"--set-file", "COMPONENT:PATH=FILE", files, readValue}, {"--set-json", "COMPONENT:PATH=JSON", jsons, func(text string) (any, error) { return parseJSON([]byte(text)) }}} {
		for _, text := range list.texts {
			key, expr, ok := strings.Cut(text, ":")
			path, value, has := strings.Cut(expr, "=")
			if !ok || !has || key == "" || strings.Contains(key, "=") {
				return nil, fmt.Errorf("%s %q is not %s, e.g. gpuoperator:driver.env=…", list.flag, text, list.form)
			}
			steps, err := splitPath(path)
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", list.flag, text, err)
			}
			if len(steps) == 1 && steps[0] == enabled {
				return nil, fmt.Errorf("%s %q: a component is left out, or brought back, by --set %s:enabled=false or =true", list.flag, text, key)
			}
			t := Typed{flag: list.flag, text: text, key: key, path: steps}
			if t.value, err = list.read(value); err != nil {
				return nil, fmt.Errorf("%s %q: %w", list.flag, text, err)
			}
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b Typed) int { return cmp.Compare(len(a.path), len(b.path)) })
	return all, nil
}

// splitPath splits a value path at its dots. \. is a dot in a key.
func splitPath(path string) ([]string, error) {
	steps := []string{""}
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path) && path[i+1] == '.':
			i++
			steps[len(steps)-1] += "."
		case path[i] == '.':
			steps = append(steps, "")
		default:
			steps[len(steps)-1] += path[i : i+1]
		}
	}
	if slices.Contains(steps, "") {
		return nil, fmt.Errorf("the path %q has an empty key; write keys with dots between them", path)
	}
	if strings.ContainsAny(path, "[]") {
		return nil, fmt.Errorf("the path %q leads to an element of a list; set the whole list", path)
	}
	return steps, nil
}

// parseJSON reads the only value of a text. Whole numbers stay whole.
func parseJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("there is none")
		}
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the value is followed by something else; quote it for the shell, in single quotes")
	}
	return plain(v)
}

// plain makes Go's own numbers of JSON's.
func plain(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = plain(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = plain(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// readValue reads the only YAML or JSON document of a file.
func readValue(file string) (any, error) {
	info, err := os.Stat(file)
	var of *fs.PathError
	switch {
	case errors.As(err, &of):
		return nil, fmt.Errorf("read %s: %w", file, of.Err)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	data, err := filesys.File(file, mostValue)
	if err != nil {
		return nil, err
	}
	root, found := document.ParseYAML(file, data)
	if len(found) > 0 {
		return nil, (&document.Problems{Found: found}).Err()
	}
	if root == nil {
		return nil, fmt.Errorf("%s is empty; write the value into it", file)
	}
	converted, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return parseJSON(converted)
}

// NameTyped replaces the keys by the names of the result's components that they stand for, as
// Sets.Names does.
func NameTyped(typed []Typed, entries []recipe.Entry, result *recipe.Result) ([]Typed, error) {
	named := slices.Clone(typed)
	for i := range named {
		t := &named[i]
		var err error
		if t.key, err = componentOf(t.key, entries, result); err != nil {
			return nil, fmt.Errorf("%s %q: %w", t.flag, t.text, err)
		}
	}
	return named, nil
}

// ApplyTyped sets the values in the components. It merges a map into an existing one, and a null in
// it removes the key. Any other value replaces the existing one. The lines say what was set.
func ApplyTyped(typed []Typed, components []recipe.Component) (lines []string, err error) {
	for _, t := range typed {
		i := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == t.key })
		if i < 0 {
			return nil, fmt.Errorf("%s %q: component %s is not in the bundle: it is disabled (overrides.enabled: false); remove the flag", t.flag, t.text, t.key)
		}
		c := &components[i]
		value := t.value
		if over, ok := value.(map[string]any); ok {
			under, _ := valueAt(c.Values, t.path)
			value = merge(under, over)
		}
		if err := putSteps(c, t.path, document.CopyValue(value), t.flag+" "+t.text); err != nil {
			return nil, err
		}
		t.keepTolerations(c)
		_, expr, _ := strings.Cut(t.text, ":")
		lines = append(lines, fmt.Sprintf("%s: %s %s", c.Name, t.flag, expr))
	}
	return lines, nil
}

// keepTolerations keeps the tolerations that the value has, or that it is above, as they are: nothing is put
// to them.
func (t *Typed) keepTolerations(c *recipe.Component) {
	for _, kind := range []*recipe.SchedulingPaths{&c.NodeScheduling.System, &c.NodeScheduling.Accelerated} {
		kind.TolerationPaths = slices.DeleteFunc(slices.Clone(kind.TolerationPaths), func(path string) bool {
			below, ok := strings.CutPrefix(path+".", strings.Join(t.path, ".")+".")
			if over, isMap := t.value.(map[string]any); isMap && ok && below != "" {
				_, ok = valueAt(over, strings.Split(strings.TrimSuffix(below, "."), "."))
			}
			return ok
		})
	}
}

// merge lays a map over a value, and leaves both as they are.
func merge(under any, over map[string]any) map[string]any {
	out := map[string]any{}
	if m, ok := under.(map[string]any); ok {
		out = document.CopyValue(m).(map[string]any)
	}
	for key, v := range over {
		if m, ok := v.(map[string]any); ok {
			v = merge(out[key], m)
		}
		if v == nil {
			delete(out, key)
			continue
		}
		out[key] = v
	}
	return out
}

// valueAt gives the value at a path.
func valueAt(values map[string]any, path []string) (any, bool) {
	var v any = values
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}
