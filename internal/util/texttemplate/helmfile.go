package texttemplate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"go.yaml.in/yaml/v3"
)

// Helmfile gives a template the functions that helmfile 1 has, as far as they depend on nothing but
// their arguments and these files. Values that are not there are an error, as for helmfile.
type Helmfile struct {
	// Files are those that readFile and its like may read, by their paths from the root of a
	// repository, and Dir is where the template is. Files of Dir that are named _*.tpl define templates.
	Files map[string]string
	Dir   string
}

// mostIncluded is how deep templates may include each other, as for helmfile.
const mostIncluded = 1000

// functions are those of one template, which include finds templates in. Names of variables that it
// asks for go to asked.
func (h *Helmfile) functions(t *template.Template, asked *[]string) template.FuncMap {
	all := sprig.HermeticTxtFuncMap()
	all["sprigGet"] = all["get"]
	deep := map[string]int{}
	maps.Copy(all, template.FuncMap{
		"toYaml":         toYAML,
		"fromYaml":       fromYAML,
		"required":       required,
		"get":            get,
		"getOrNil":       func(at string, from any) (any, error) { return get(at, nil, from) },
		"setValueAtPath": setValueAtPath,
		"readFile":       h.readFile,
		"readDir":        h.readDir,
		"isFile":         func(name string) bool { _, err := h.readFile(name); return err == nil },
		"isDir":          func(name string) bool { return len(h.below(name)) > 0 },
		"env": func(name string) string {
			*asked = append(*asked, name)
			return ""
		},
		"requiredEnv": func(name string) (string, error) {
			return "", fmt.Errorf("the variable %s of the environment is required, and no template here gets one: write a test value into the file", name)
		},
		"tpl": func(text string, values any) (string, error) {
			inner, err := h.parse(text, asked)
			if err != nil {
				return "", err
			}
			var out bytes.Buffer
			err = inner.Execute(&out, values)
			return out.String(), err
		},
		"include": func(name string, values any) (string, error) {
			if deep[name]++; deep[name] > mostIncluded {
				return "", fmt.Errorf("the template %s includes itself", name)
			}
			defer func() { deep[name]-- }()
			var out bytes.Buffer
			err := t.ExecuteTemplate(&out, name, values)
			return out.String(), err
		},
	})
	for name, does := range map[string]string{
		"exec": "runs a program", "envExec": "runs a program", "fetchSecretValue": "reads a secret store", "expandSecretRefs": "reads a secret store",
		"readDirEntries": "gives objects of the file system",
	} {
		all[name] = func(...any) (string, error) {
			return "", fmt.Errorf("%s %s, which no template here does: write a test value into the file", name, does)
		}
	}
	return all
}

// parse parses a text, and before it the templates that files beside it define.
func (h *Helmfile) parse(text string, asked *[]string) (*template.Template, error) {
	t := template.New("helmfile").Option("missingkey=error")
	t.Funcs(h.functions(t, asked))
	for _, name := range slices.Sorted(maps.Keys(h.Files)) {
		if ok, _ := path.Match(path.Join(h.Dir, "_*.tpl"), name); ok {
			if _, err := t.Parse(h.Files[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return t.Parse(text)
}

func (h *Helmfile) readFile(name string) (string, error) {
	if content, ok := h.Files[path.Join(h.Dir, name)]; ok && !path.IsAbs(name) {
		return content, nil
	}
	return "", fmt.Errorf("%s is no file of this repository", name)
}

// below gives the files in a directory, without those of directories in it for readDir.
func (h *Helmfile) below(name string) (all []string) {
	dir := path.Join(h.Dir, name)
	for file := range h.Files {
		if !path.IsAbs(name) && (dir == "." || strings.HasPrefix(file, dir+"/")) {
			all = append(all, file)
		}
	}
	slices.Sort(all)
	return all
}

func (h *Helmfile) readDir(name string) ([]string, error) {
	all := h.below(name)
	if len(all) == 0 {
		return nil, fmt.Errorf("%s is no directory of this repository", name)
	}
	var names []string
	for _, file := range all {
		if path.Dir(file) == path.Join(h.Dir, name) {
			names = append(names, path.Join(name, path.Base(file)))
		}
	}
	return names, nil
}

func toYAML(v any) (string, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(v)
	return out.String(), errors.Join(err, e.Close())
}

func fromYAML(text string) (v any, err error) {
	err = yaml.Unmarshal([]byte(text), &v)
	return v, err
}

func required(message string, v any) (any, error) {
	if v == nil || v == "" {
		return nil, errors.New(message)
	}
	return v, nil
}

// get looks a path of keys up, and gives the default, if there is one, where a key is missing:
// get PATH [DEFAULT] MAP.
func get(at string, rest ...any) (any, error) {
	if len(rest) != 1 && len(rest) != 2 {
		return nil, fmt.Errorf("get takes a path, a default that may be left out, and a map, and has %d arguments", len(rest)+1)
	}
	v := rest[len(rest)-1]
	if at == "" {
		return v, nil
	}
	for key := range strings.SplitSeq(at, ".") {
		m, isMap := v.(map[string]any)
		next, ok := m[key]
		switch {
		case ok:
			v = next
		case len(rest) == 2 && (isMap || rest[0] == nil):
			return rest[0], nil
		case !isMap:
			return nil, fmt.Errorf("no map where the key %q of %s is looked for", key, at)
		default:
			return nil, fmt.Errorf("no value for the key %q of %s", key, at)
		}
	}
	return v, nil
}

func setValueAtPath(at string, v any, values map[string]any) (map[string]any, error) {
	keys := strings.Split(at, ".")
	m := values
	for _, key := range keys[:len(keys)-1] {
		next, ok := m[key].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("no map at the key %q of %s", key, at)
		}
		m = next
	}
	m[keys[len(keys)-1]] = v
	return values, nil
}
