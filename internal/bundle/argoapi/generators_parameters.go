package argoapi

import (
	"fmt"
	"maps"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// GeneratorSource is what generators are made from: one repository, and the cluster.
type GeneratorSource struct {
	// Own reports whether an address is the repository's, and NotOwn says why another one is refused.
	Own    func(address string) bool
	NotOwn func(address string) string
	// Elsewhere is the directory among Files that has those of another repository; an empty one: that is left out.
	Elsewhere func(address string) (dir string, said bool)
	// Files are all of its files, which Read reads.
	Files func() ([]string, error)
	Read  func(name string) ([]byte, error)
	// Cluster is told that the cell's cluster stands for those that a generator selects.
	Cluster func()
	// Labels and Annotations are those of the Secret by which Argo CD knows the cluster, as far as the user has
	// said them.
	Labels, Annotations map[string]string
	// Goes: templates are those of Go, which Evaluate evaluates, and parameters may be in each other. Else
	// templates are {{NAME}}, and parameters are texts; those in each other have names with dots.
	Goes     bool
	Evaluate func(texts []string, params map[string]any) ([]string, error)
}

// GeneratorError is what is wrong with a node of a generator.
type GeneratorError struct {
	Node *yamlv3.Node
	Err  error
}

func (e *GeneratorError) Error() string { return e.Err.Error() }
func (e *GeneratorError) Unwrap() error { return e.Err }

func bad(n *yamlv3.Node, format string, args ...any) error {
	return &GeneratorError{n, fmt.Errorf(format, args...)}
}

// mostDeep is how deep generators may be in each other. Argo CD allows two levels below the first.
const mostDeep = 3

// Parameters gives the parameters of each Application that a generator makes. Of what is wrong with it,
// the error is an *Error.
func (s GeneratorSource) Parameters(g *yamlv3.Node) ([]map[string]any, error) {
	return s.parameters(g, nil, 0)
}

// parameters are those of a generator; more are the parameters of another one that it may have.
func (s GeneratorSource) parameters(g *yamlv3.Node, more map[string]any, depth int) ([]map[string]any, error) {
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
func (s GeneratorSource) values(generator *yamlv3.Node, sets []map[string]any) error {
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

func (s GeneratorSource) list(list *yamlv3.Node) ([]map[string]any, error) {
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
func (s GeneratorSource) clusters(n *yamlv3.Node) ([]map[string]any, error) {
	s.Cluster()
	params := map[string]any{"name": "in-cluster", "nameNormalized": "in-cluster", "server": LocalServer, "project": ""}
	wanted, err := labelsOf(yamlx.Find(n, "selector"))
	if err != nil {
		return nil, err
	}
	known := map[string]map[string]any{}
	add := func(part, key string, value any) {
		if !s.Goes {
			params["metadata."+part+"."+key] = value
		} else if known[part] == nil {
			known[part] = map[string]any{key: value}
		} else {
			known[part][key] = value
		}
	}
	for key, value := range s.Labels {
		add("labels", key, value)
	}
	for key, value := range s.Annotations {
		add("annotations", key, value)
	}
	for key, value := range wanted {
		if _, said := s.Labels[key]; !said {
			add("labels", key, value)
		}
	}
	if !selects(yamlx.Find(n, "selector"), wanted, s.Labels) {
		return nil, nil
	}
	if len(known) > 0 {
		metadata := map[string]any{}
		for part, values := range known {
			metadata[part] = values
		}
		params["metadata"] = metadata
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
