package argoapi

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Fill is a copy of a node whose templates are filled with parameters: of a generator in another one, or of
// the template of Applications.
func (s GeneratorSource) Fill(n *yamlv3.Node, params map[string]any) (*yamlv3.Node, error) {
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
func (s GeneratorSource) FillTexts(texts []string, params map[string]any) ([]string, error) {
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

// tag is a template without Go's, and parameter what a parameter may be called in one.
var (
	tag       = regexp.MustCompile(`\{\{(.*?)\}\}`)
	parameter = regexp.MustCompile(`^[^\s.][^\s]*$`)
)

// filled replaces parameters of the form {{path.basename}}. Argo CD leaves one that is none, or no text, as
// it is written, which nobody wants: it is an error. A template of Go stays, e.g. {{ .Release.Name }} in
// values of a chart.
func filled(texts []string, params map[string]any) ([]string, error) {
	var unknown string
	var all []string
	for _, text := range texts {
		all = append(all, tag.ReplaceAllStringFunc(text, func(match string) string {
			name := strings.TrimSpace(match[2 : len(match)-2])
			value, ok := params[name].(string)
			switch {
			case ok:
				return value
			case parameter.MatchString(name):
				unknown = match
			}
			return match
		}))
	}
	if unknown != "" {
		return nil, fmt.Errorf("no generator has the parameter %s, or it is no text; there are %s", unknown, strings.Join(slices.Sorted(maps.Keys(params)), ", "))
	}
	return all, nil
}
