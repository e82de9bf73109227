package generators

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"dario.cat/mergo"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Source is what generators are made from: one repository, and the cluster.
type Source struct {
	// Own reports whether an address is the repository's, and NotOwn says why another one is refused.
	Own    func(address string) bool
	NotOwn func(address string) string
	// Files are all of its files, which Read reads.
	Files func() ([]string, error)
	Read  func(name string) ([]byte, error)
	// Cluster is told that the cell's cluster stands for those that a generator selects.
	Cluster func()
	// Goes: templates are those of Go, which Evaluate evaluates, and parameters may be in each other. Else
	// templates are {{NAME}}, and parameters are texts; those in each other have names with dots.
	Goes     bool
	Evaluate func(texts []string, params map[string]any) ([]string, error)
}

// Error is what is wrong with a node of a generator.
type Error struct {
	Node *yamlv3.Node
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func bad(n *yamlv3.Node, format string, args ...any) error {
	return &Error{n, fmt.Errorf(format, args...)}
}

// mostDeep is how deep generators may be in each other. Argo CD allows two levels below the first.
const mostDeep = 3

// Parameters gives the parameters of each Application that a generator makes. Of what is wrong with it,
// the error is an *Error.
func (s Source) Parameters(g *yamlv3.Node) ([]map[string]any, error) { return s.parameters(g, nil, 0) }

// parameters are those of a generator; more are the parameters of another one that it may have.
func (s Source) parameters(g *yamlv3.Node, more map[string]any, depth int) ([]map[string]any, error) {
	keys := slices.DeleteFunc(yamlx.Keys(g), func(key string) bool { return key == "selector" })
	if len(keys) != 1 || depth > mostDeep {
		return nil, bad(g, "it is not understood: want one of list, git, clusters, matrix and merge, and no template")
	}
	inner := yamlx.Find(g, keys[0])
	if len(more) > 0 {
		var err error
		if inner, err = s.Fill(inner, more); err != nil {
			return nil, bad(inner, "%w", err)
		}
	}
	if inner == nil {
		return nil, bad(g, "%s is empty", keys[0])
	}
	if n := yamlx.Find(inner, "template"); n != nil {
		return nil, bad(n, "a template of one generator is not understood: write it under spec.template")
	}
	var sets []map[string]any
	var err error
	switch keys[0] {
	case "list":
		sets, err = s.list(inner)
	case "git":
		sets, err = s.git(inner)
	case "clusters":
		sets, err = s.clusters(inner)
	case "matrix":
		sets, err = s.matrix(inner, depth)
	case "merge":
		sets, err = s.merge(inner, depth)
	default:
		return nil, bad(g, "%s depends on more than this repository: want list, git, clusters, or a matrix or merge of these", keys[0])
	}
	if err != nil {
		return nil, err
	}
	return selected(yamlx.Find(g, "selector"), sets)
}

// values adds the values of a generator, which may have its parameters.
func (s Source) values(generator *yamlv3.Node, sets []map[string]any) error {
	n := yamlx.Find(generator, "values")
	if n == nil {
		return nil
	}
	for _, params := range sets {
		filled, err := s.Fill(n, params)
		if err != nil {
			return bad(n, "%w", err)
		}
		values := map[string]any{}
		for _, key := range yamlx.Keys(filled) {
			values[key] = yamlx.Text(filled, key)
		}
		if s.Goes {
			params["values"] = values
			continue
		}
		for key, value := range values {
			params["values."+key] = value
		}
	}
	return nil
}

// read gives a node's value as Argo CD has it, which reads JSON: numbers are of floating point.
func read[T any](n *yamlv3.Node) (v T, err error) {
	content, err := yamlx.Encode([]*yamlv3.Node{n})
	if err != nil {
		return v, err
	}
	return v, yaml.Unmarshal(content, &v)
}

func (s Source) list(list *yamlv3.Node) ([]map[string]any, error) {
	elements, text := yamlx.Find(list, "elements"), yamlx.Find(list, "elementsYaml")
	if text == nil && (elements == nil || elements.Kind != yamlv3.SequenceNode) {
		return nil, bad(list, "the list has no elements")
	}
	var sets []map[string]any
	if elements != nil {
		for _, n := range elements.Content {
			params, err := read[map[string]any](n)
			if err != nil {
				return nil, bad(n, "an element: %w", err)
			}
			if !s.Goes {
				if params, err = texts(params); err != nil {
					return nil, bad(n, "an element: %w", err)
				}
			}
			sets = append(sets, params)
		}
	}
	if text != nil {
		var more []map[string]any
		if err := yaml.Unmarshal([]byte(text.Value), &more); err != nil {
			return nil, bad(text, "elementsYaml is no YAML list of mappings: %w", err)
		}
		sets = append(sets, more...)
	}
	return sets, nil
}

// texts are the parameters of a list's element without templates of Go: texts, and a mapping of texts
// under values.
func texts(element map[string]any) (map[string]any, error) {
	all := maps.Clone(element)
	if inner, ok := element["values"].(map[string]any); ok {
		delete(all, "values")
		for key, value := range inner {
			all["values."+key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if _, ok := all[key].(string); !ok || key == "values" {
			return nil, fmt.Errorf("%s is no text, and Argo CD takes nothing else without goTemplate: quote it", key)
		}
	}
	return all, nil
}

// clusters gives the parameters of the cell's cluster, which stands for the selected ones. It has the
// labels that the selector wants.
func (s Source) clusters(n *yamlv3.Node) ([]map[string]any, error) {
	s.Cluster()
	params := map[string]any{"name": "in-cluster", "nameNormalized": "in-cluster", "server": localServer, "project": ""}
	wanted, err := labelsOf(yamlx.Find(n, "selector"))
	if err != nil {
		return nil, err
	}
	if s.Goes && len(wanted) > 0 {
		params["metadata"] = map[string]any{"labels": wanted}
	}
	for key, value := range wanted {
		if !s.Goes {
			params["metadata.labels."+key] = value
		}
	}
	sets := []map[string]any{params}
	if err := s.values(n, sets); err != nil {
		return nil, err
	}
	if yamlx.Text(n, "flatList") == "true" {
		return []map[string]any{{"clusters": []any{params}}}, nil
	}
	return sets, nil
}

// localServer is the cluster that Argo CD runs in.
const localServer = "https://kubernetes.default.svc"

// both gives the generators of a matrix or a merge.
func both(n *yamlv3.Node, kind string, least, most int) ([]*yamlv3.Node, error) {
	list := yamlx.Find(n, "generators")
	if list == nil || len(list.Content) < least || len(list.Content) > most {
		return nil, bad(n, "the %s is not understood: want %d generators", kind, least)
	}
	return list.Content, nil
}

// matrix joins each set of one generator with each that another one makes with its parameters. Of a
// parameter that both have, the first one's counts with templates of Go; without, they have to be equal.
func (s Source) matrix(n *yamlv3.Node, depth int) ([]map[string]any, error) {
	list, err := both(n, "matrix", 2, 2)
	if err != nil {
		return nil, err
	}
	first, err := s.parameters(list[0], nil, depth+1)
	if err != nil {
		return nil, err
	}
	var sets []map[string]any
	for _, a := range first {
		second, err := s.parameters(list[1], a, depth+1)
		if err != nil {
			return nil, err
		}
		for _, b := range second {
			params := map[string]any{}
			if s.Goes {
				if err := errors.Join(merged(params, b), merged(params, a)); err != nil {
					return nil, bad(n, "%w", err)
				}
				sets = append(sets, params)
				continue
			}
			for key, value := range a {
				params[key] = fmt.Sprint(value)
			}
			for key, value := range b {
				if had, both := params[key]; both && had != fmt.Sprint(value) {
					return nil, bad(n, "both generators of a matrix have the parameter %s, once %v and once %v: Argo CD refuses that; set pathParamPrefix of one, or goTemplate", key, had, value)
				}
				params[key] = fmt.Sprint(value)
			}
			sets = append(sets, params)
		}
	}
	return sets, nil
}

// merged lays parameters over others, as Argo CD does with templates of Go: with the same library.
func merged(params, over map[string]any) error {
	copied, err := copyOf(over)
	if err != nil {
		return err
	}
	return mergo.Merge(&params, copied, mergo.WithOverride)
}

// copyOf is a copy with all that is in it, since mergo changes what it is given.
func copyOf(params map[string]any) (all map[string]any, err error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return all, json.Unmarshal(text, &all)
}

// merge lays sets of later generators over those of the first that have the same values under its keys.
func (s Source) merge(n *yamlv3.Node, depth int) ([]map[string]any, error) {
	list, err := both(n, "merge", 2, 10)
	if err != nil {
		return nil, err
	}
	var keys []string
	if at := yamlx.Find(n, "mergeKeys"); at == nil || at.Decode(&keys) != nil || len(keys) == 0 {
		return nil, bad(n, "the merge has no mergeKeys")
	}
	of := func(g *yamlv3.Node) (sets []map[string]any, at map[string]int, err error) {
		if sets, err = s.parameters(g, nil, depth+1); err != nil {
			return nil, nil, err
		}
		at = map[string]int{}
		for i, params := range sets {
			var key []any
			for _, k := range keys {
				key = append(key, params[k]) // with templates of Go a parameter within another one is no key
			}
			text, err := json.Marshal(key)
			if err != nil {
				return nil, nil, bad(g, "%w", err)
			}
			if _, again := at[string(text)]; again {
				return nil, nil, bad(g, "two sets of parameters of a merge have the same values under %s, or none: Argo CD refuses them", strings.Join(keys, ", "))
			}
			at[string(text)] = i
		}
		return sets, at, nil
	}
	base, at, err := of(list[0])
	if err != nil {
		return nil, err
	}
	for _, g := range list[1:] {
		over, there, err := of(g)
		if err != nil {
			return nil, err
		}
		for key, i := range there {
			j, ok := at[key]
			switch {
			case !ok:
			case s.Goes:
				if err := merged(base[j], over[i]); err != nil {
					return nil, bad(g, "%w", err)
				}
			default:
				maps.Copy(base[j], over[i])
			}
		}
	}
	return base, nil
}

// git gives the parameters of directories or files of the repository.
func (s Source) git(git *yamlv3.Node) ([]map[string]any, error) {
	if at := yamlx.Text(git, "repoURL"); !s.Own(at) {
		return nil, &Error{git, errors.New(s.NotOwn(at))}
	}
	names, err := s.Files()
	if err != nil {
		return nil, err
	}
	directories, files := yamlx.Find(git, "directories"), yamlx.Find(git, "files")
	var sets []map[string]any
	switch {
	case directories != nil && len(directories.Content) > 0:
		for _, dir := range Directories(names) {
			if selects(directories, func(pattern string) bool { ok, err := path.Match(pattern, dir); return ok && err == nil }) {
				sets = append(sets, s.at(git, map[string]any{}, dir, ""))
			}
		}
	case files != nil && len(files.Content) > 0:
		for _, name := range names {
			if !selects(files, func(pattern string) bool { return pathspec(pattern, name) }) {
				continue
			}
			content, err := s.Read(name)
			if err != nil {
				return nil, err
			}
			objects, err := objectsOf(content)
			if err != nil {
				return nil, bad(git, "file %s: %w", name, err)
			}
			for _, params := range objects {
				if !s.Goes {
					flat := map[string]any{}
					for key, value := range flattened(params) {
						flat[key] = value
					}
					params = flat
				}
				sets = append(sets, s.at(git, params, path.Dir(name), path.Base(name)))
			}
		}
	default:
		return nil, bad(git, "it has neither directories nor files")
	}
	return sets, s.values(git, sets)
}

// at adds the parameters that a directory, or a file in it, has by its path.
func (s Source) at(git *yamlv3.Node, params map[string]any, dir, file string) map[string]any {
	prefix := yamlx.Text(git, "pathParamPrefix")
	all := map[string]any{"basename": path.Base(dir), "basenameNormalized": texttemplate.Normalized(path.Base(dir))}
	if file != "" {
		all["filename"], all["filenameNormalized"] = file, texttemplate.Normalized(file)
	}
	segments := strings.Split(dir, "/")
	if !s.Goes {
		name := strings.TrimPrefix(prefix+".path", ".")
		params[name] = dir
		for key, value := range all {
			params[name+"."+key] = value
		}
		for i, segment := range segments {
			params[name+"["+strconv.Itoa(i)+"]"] = segment
		}
		return params
	}
	var list []any
	for _, segment := range segments {
		list = append(list, segment)
	}
	all["path"], all["segments"] = dir, list
	if prefix != "" {
		params[prefix] = map[string]any{"path": all}
	} else {
		params["path"] = all
	}
	return params
}

// objectsOf reads a file of parameters: one object, or a list of them. An empty file is an object.
func objectsOf(content []byte) ([]map[string]any, error) {
	params := map[string]any{}
	if err := yaml.Unmarshal(content, &params); err == nil {
		if params == nil {
			params = map[string]any{}
		}
		return []map[string]any{params}, nil
	}
	var list []map[string]any
	if err := yaml.Unmarshal(content, &list); err != nil {
		return nil, err
	}
	for i := range list {
		if list[i] == nil {
			list[i] = map[string]any{}
		}
	}
	return list, nil
}

// Fill is a copy of a node whose templates are filled with parameters: of a generator in another one, or of
// the template of Applications.
func (s Source) Fill(n *yamlv3.Node, params map[string]any) (*yamlv3.Node, error) {
	n = yamlx.Clone(n)
	scalars := templates(n)
	if len(scalars) == 0 {
		return n, nil
	}
	var texts []string
	for _, c := range scalars {
		texts = append(texts, c.Value)
	}
	texts, err := s.FillTexts(texts, params)
	if err != nil {
		return n, err
	}
	for i, c := range scalars {
		c.Value, c.Tag = texts[i], "!!str"
	}
	return n, nil
}

// FillTexts fills templates with parameters.
func (s Source) FillTexts(texts []string, params map[string]any) ([]string, error) {
	if s.Goes {
		return s.Evaluate(texts, params)
	}
	return filled(texts, params)
}

// templates are the scalars in a node that have a template.
func templates(n *yamlv3.Node) []*yamlv3.Node {
	if n == nil {
		return nil
	}
	var all []*yamlv3.Node
	if n.Kind == yamlv3.ScalarNode && strings.Contains(n.Value, "{{") {
		all = append(all, n)
	}
	for _, c := range n.Content {
		all = append(all, templates(c)...)
	}
	return all
}
