package generators

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

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
	// Clusters are the parameters of the clusters.
	Clusters func() []map[string]any
	// Goes: templates are those of Go, which Evaluate evaluates. Else they are {{NAME}}.
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
	if more != nil {
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
		sets = s.Clusters()
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
	if n := yamlx.Find(inner, "values"); n != nil {
		if err := s.values(n, sets); err != nil {
			return nil, err
		}
	}
	return selected(yamlx.Find(g, "selector"), sets)
}

// values adds the values of a generator, which may have its parameters.
func (s Source) values(n *yamlv3.Node, sets []map[string]any) error {
	for _, params := range sets {
		filled, err := s.Fill(n, params)
		if err != nil {
			return bad(n, "%w", err)
		}
		var values map[string]any
		if err := filled.Decode(&values); err != nil {
			return bad(n, "values: %w", err)
		}
		params["values"] = values
	}
	return nil
}

// selected keeps the sets whose parameters a selector of labels selects.
func selected(n *yamlv3.Node, sets []map[string]any) ([]map[string]any, error) {
	if n == nil {
		return sets, nil
	}
	content, err := yamlx.Encode([]*yamlv3.Node{n})
	if err != nil {
		return nil, bad(n, "selector: %w", err)
	}
	var selector metav1.LabelSelector
	if err := yaml.UnmarshalStrict(content, &selector); err != nil {
		return nil, bad(n, "selector: %w", err)
	}
	match, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return nil, bad(n, "selector: %w", err)
	}
	return slices.DeleteFunc(sets, func(params map[string]any) bool {
		flat := labels.Set{}
		flatten("", params, flat)
		return !match.Matches(flat)
	}), nil
}

func (s Source) list(list *yamlv3.Node) ([]map[string]any, error) {
	elements, text := yamlx.Find(list, "elements"), yamlx.Find(list, "elementsYaml")
	if text != nil {
		docs, err := yamlx.Documents([]byte(text.Value))
		if err != nil || len(docs) != 1 || len(docs[0].Content) != 1 {
			return nil, bad(text, "elementsYaml is no YAML list")
		}
		elements = docs[0].Content[0]
	}
	if elements == nil || elements.Kind != yamlv3.SequenceNode {
		return nil, bad(list, "the list has no elements")
	}
	var sets []map[string]any
	for _, n := range elements.Content {
		params := map[string]any{}
		if err := n.Decode(&params); err != nil {
			return nil, bad(n, "an element: %w", err)
		}
		sets = append(sets, params)
	}
	return sets, nil
}

// both gives the generators of a matrix or a merge.
func both(n *yamlv3.Node, kind string, least, most int) ([]*yamlv3.Node, error) {
	list := yamlx.Find(n, "generators")
	if list == nil || len(list.Content) < least || len(list.Content) > most {
		return nil, bad(n, "the %s is not understood: want %d generators", kind, least)
	}
	return list.Content, nil
}

// matrix joins each set of one generator with each that another one makes with its parameters.
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
			params := maps.Clone(a)
			maps.Copy(params, b)
			sets = append(sets, params)
		}
	}
	return sets, nil
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
	of := func(params map[string]any) string { // with templates of Go a parameter within another one is no key
		flat := map[string]string{}
		flatten("", params, flat)
		text := ""
		for _, key := range keys {
			if value, ok := flat[key]; ok && !s.Goes {
				text += fmt.Sprintf("%q ", value)
			} else {
				text += fmt.Sprintf("%#v ", params[key])
			}
		}
		return text
	}
	base, err := s.parameters(list[0], nil, depth+1)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, params := range base {
		key := of(params)
		if _, again := at[key]; again {
			return nil, bad(list[0], "two sets of parameters of a merge have the same values under %s, or none: Argo CD refuses them", strings.Join(keys, ", "))
		}
		at[key] = i
	}
	for _, g := range list[1:] {
		over, err := s.parameters(g, nil, depth+1)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, params := range over {
			key := of(params)
			if seen[key] {
				return nil, bad(g, "two sets of parameters of a merge have the same values under %s, or none: Argo CD refuses them", strings.Join(keys, ", "))
			}
			seen[key] = true
			if i, there := at[key]; there {
				base[i] = s.laid(base[i], params)
			}
		}
	}
	return base, nil
}

// laid is one set over another one. With templates of Go an empty value is none.
func (s Source) laid(below, above map[string]any) map[string]any {
	all := maps.Clone(below)
	for key, value := range above {
		if v := reflect.ValueOf(value); s.Goes && (!v.IsValid() || v.IsZero()) {
			continue
		}
		a, ok := all[key].(map[string]any)
		if b, also := value.(map[string]any); ok && also {
			value = s.laid(a, b)
		}
		all[key] = value
	}
	return all
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
	list, ofFiles := yamlx.Find(git, "directories"), false
	if list == nil {
		list, ofFiles = yamlx.Find(git, "files"), true
	} else {
		names = Directories(names)
	}
	if list == nil {
		return nil, bad(git, "it has neither directories nor files")
	}
	prefix := yamlx.Text(git, "pathParamPrefix")
	var sets []map[string]any
	for _, name := range names {
		if !Selected(list, name) {
			continue
		}
		all := []map[string]any{{}}
		dir := name
		if ofFiles {
			dir = path.Dir(name)
			content, err := s.Read(name)
			if err != nil {
				return nil, err
			}
			if all, err = objectsOf(content); err != nil {
				return nil, bad(git, "file %s: %w", name, err)
			}
		}
		at := map[string]any{"path": dir, "basename": path.Base(dir), "basenameNormalized": Normalized(path.Base(dir))}
		if ofFiles {
			at["filename"], at["filenameNormalized"] = path.Base(name), Normalized(path.Base(name))
		}
		var segments []any
		for _, part := range strings.Split(dir, "/") {
			segments = append(segments, part)
		}
		at["segments"] = segments
		for _, params := range all {
			params["path"] = at
			if prefix != "" {
				delete(params, "path")
				params[prefix] = map[string]any{"path": at}
			}
			sets = append(sets, params)
		}
	}
	return sets, nil
}

// objectsOf reads a file of parameters: one object, or a list of them.
func objectsOf(content []byte) ([]map[string]any, error) {
	var list []map[string]any
	if yaml.Unmarshal(content, &list) == nil && list != nil {
		return list, nil
	}
	params := map[string]any{}
	if err := yaml.Unmarshal(content, &params); err != nil {
		return nil, err
	}
	if params == nil {
		params = map[string]any{}
	}
	return []map[string]any{params}, nil
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
	var err error
	if s.Goes {
		texts, err = s.Evaluate(texts, params)
	} else {
		texts, err = Filled(texts, params)
	}
	if err != nil {
		return n, err
	}
	for i, c := range scalars {
		c.Value, c.Tag = texts[i], "!!str"
	}
	return n, nil
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
