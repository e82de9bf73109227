// Package statefile reads and writes the files of helmfile: state files with their documents,
// bases, environments and templates, as helmfile 1 reads them.
package statefile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Template is the extension of a file that is a template; helmfile evaluates no other.
const Template = ".gotmpl"

// defaultEnvironment is the one without --environment; a file need not declare it.
const defaultEnvironment = "default"

// Reader reads the state files of a repository for one environment. Close it.
type Reader struct {
	Repo        *checkout.Repository
	Environment string // as helmfile's --environment; empty: defaultEnvironment
	// Note is called with what a person should know of the reading, once for each such thing.
	Note func(format string, args ...any)

	templates texttemplate.Renderer
	readable  map[string]string
	asked     []string
}

// Close ends the process of templates, if there is one.
func (r *Reader) Close() { r.templates.Close() }

// State is a state file with its documents and bases in one. A line of it is in the file that
// Repository.Place says.
type State struct {
	checkout.Object
	// Dir is what paths in it are relative to, also those of its bases.
	Dir string

	env   environment
	given map[string]any // from the entry that names the file; they win
}

func (r *Reader) name() string {
	if r.Environment == "" {
		return defaultEnvironment
	}
	return r.Environment
}

// Read reads a state file. Given are values for it from the entry of helmfiles that names it, if
// another one does.
func (r *Reader) Read(ctx context.Context, name string, given map[string]any) (*State, error) {
	s := &State{Object: checkout.New(name, mapping(1)), Dir: path.Dir(name), given: given}
	if err := r.load(ctx, s, name, true); err != nil {
		return nil, err
	}
	if list := yamlx.Find(s.Node, "environments"); list == nil && given == nil {
		return s, r.declares(s, mapping(1))
	}
	return s, nil
}

// declares refuses an environment that is not among those of a file.
func (r *Reader) declares(s *State, environments *yamlv3.Node) error {
	if names := yamlx.Keys(environments); r.name() != defaultEnvironment && !slices.Contains(names, r.name()) {
		return r.Repo.BadAt(s.Object, environments, "it has no environment %s, only: %s", r.name(), strings.Join(append([]string{defaultEnvironment}, slices.DeleteFunc(names, func(n string) bool { return n == defaultEnvironment })...), ", "))
	}
	return nil
}

// load adds the documents of a file to a state: each sees the environments of those before it.
func (r *Reader) load(ctx context.Context, s *State, name string, own bool) error {
	content, err := r.Repo.Read(name)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(content), "\r\n", "\n")
	if at, key := disordered(text); at > 0 {
		return r.Repo.BadLine(checkout.Object{File: name}, at, fmt.Errorf("%s and releases: helmfile wants %s in a document before that of releases; write --- between them", key, key))
	}
	line := 0
	whole := mapping(1)
	for part := range strings.SplitSeq(text, "\n---\n") {
		s.env.values = merge(s.env.values, s.given)
		node, err := r.document(ctx, s, name, part, line)
		if err != nil {
			return err
		}
		line += strings.Count(part, "\n") + 2
		if node == nil {
			continue
		}
		if node, err = r.withBases(ctx, s, node, own); err != nil {
			return err
		}
		if s.env, err = r.environment(ctx, s, node); err != nil {
			return err
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if have := yamlx.Find(whole, node.Content[i].Value); have != nil && have.Kind == yamlv3.SequenceNode && len(have.Content) > 0 && len(node.Content[i+1].Content) > 0 {
				file, at := r.Repo.Place(s.Object, node.Content[i].Line)
				r.Note("%s:%d: these %s replace those of an earlier document, as helmfile has it: write them in one list", r.Repo.Shown(file), at, node.Content[i].Value)
			}
		}
		overlay(whole, node, false)
		if list := yamlx.Find(whole, "environments"); own && list != nil {
			if err := r.declares(s, list); err != nil {
				return err
			}
		}
	}
	if own {
		s.Node = whole
	} else {
		overlay(s.Node, whole, true)
	}
	return nil
}

// document parses one document of a file, from line after on, and evaluates it before if the file
// is a template; nil if it is empty.
func (r *Reader) document(ctx context.Context, s *State, name, text string, after int) (*yamlv3.Node, error) {
	o := checkout.Object{File: name}
	lines := func(line int) int { return line + after }
	if path.Ext(name) == Template {
		made, err := r.evaluate(ctx, name, text, r.data(s.env))
		if err != nil {
			return nil, r.Repo.BadLine(o, lineOf(err)+after, err)
		}
		from := aligned(text, made)
		text, lines = made, func(line int) int { return from[min(line, len(from))-1] + after }
	}
	docs, err := yamlx.Documents([]byte(text))
	if err != nil {
		p := yamlx.Problems(err)[0]
		return nil, r.Repo.BadLine(o, lines(max(1, p.Line)), errors.New(p.Text))
	}
	whole := mapping(after + 1)
	for _, d := range docs {
		if len(d.Content) != 1 || d.Content[0].Tag == "!!null" {
			continue
		}
		n := plain(d.Content[0])
		checkout.Renumber(n, func(line int) int { return r.Repo.Spot(s.Object, name, lines(line)) })
		if n.Kind != yamlv3.MappingNode {
			return nil, r.Repo.BadAt(s.Object, n, "a document of helmfile is a mapping, e.g. with releases")
		}
		overlay(whole, n, true)
	}
	if len(whole.Content) == 0 {
		return nil, nil
	}
	return whole, nil
}

// withBases lays a document over the bases that it names.
func (r *Reader) withBases(ctx context.Context, s *State, node *yamlv3.Node, own bool) (*yamlv3.Node, error) {
	bases := yamlx.Find(node, "bases")
	if bases == nil || len(bases.Content) == 0 {
		return node, nil
	}
	if !own {
		return nil, r.Repo.BadAt(s.Object, bases, "a base that has bases itself: helmfile takes none")
	}
	under := &State{Object: checkout.New(s.File, mapping(node.Line)), Dir: s.Dir}
	for _, b := range bases.Content {
		at := path.Join(s.Dir, b.Value)
		if !r.Repo.Has(at) {
			return nil, r.Repo.BadAt(s.Object, b, "the base %s is no file of this repository%s", b.Value, r.Repo.Only())
		}
		under.env = s.env
		if err := r.load(ctx, under, at, false); err != nil {
			return nil, err
		}
	}
	yamlx.Drop(node, "bases")
	overlay(under.Node, node, true)
	return under.Node, nil
}

func mapping(line int) *yamlv3.Node {
	return &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Line: line}
}
