// Package statefile reads state files of helmfile as helmfile 1 does: their documents, bases,
// environments and templates. A template sees the values of one environment and the files of the
// repository, and nothing else of the machine. The rules are those of helmfile's source: pkg/app
// (desired_state_file_loader.go) and pkg/state (create.go, envvals_loader.go). It must not know
// bundles or lanes.
package statefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/app/checkout"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Template is the extension of a file that is a template; helmfile evaluates no other.
const Template = ".gotmpl"

// DefaultEnvironment is the one without --environment; a file need not declare it.
const DefaultEnvironment = "default"

const (
	mostRendered = 10 << 20 // bytes that a template may become
	mostReadable = 1 << 20  // bytes of a file that readFile of a template finds
)

// Reader reads the state files of a repository for one environment. Close it.
type Reader struct {
	Repo        *checkout.Repository
	Environment string // as helmfile's --environment; empty: DefaultEnvironment
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

// environment is what templates see of an environment: values of the state files themselves
// (defaults), and over these those of the environment.
type environment struct{ defaults, values map[string]any }

func (e environment) merged() map[string]any { return merge(e.defaults, e.values) }

func (r *Reader) name() string {
	if r.Environment == "" {
		return DefaultEnvironment
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
	if names := yamlx.Keys(environments); r.name() != DefaultEnvironment && !slices.Contains(names, r.name()) {
		return r.Repo.BadAt(s.Object, environments, "it has no environment %s, only: %s", r.name(), strings.Join(append([]string{DefaultEnvironment}, slices.DeleteFunc(names, func(n string) bool { return n == DefaultEnvironment })...), ", "))
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
		move(n, func(line int) int { return r.Repo.Spot(s.Object, name, lines(line)) })
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
			return nil, r.Repo.BadAt(s.Object, b, "the base %s is no file of this repository", b.Value)
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

// environment is a document's environment, laid over the one before it.
func (r *Reader) environment(ctx context.Context, s *State, node *yamlv3.Node) (environment, error) {
	env := s.env
	spec := yamlx.Find(node, "environments", r.name())
	if n := yamlx.Find(spec, "secrets"); n != nil {
		return env, r.Repo.BadAt(s.Object, n, "the secrets of environment %s are values that SOPS has encrypted, and their key is not here: run a copy of the file with test values", r.name())
	}
	values, err := r.Values(ctx, s, yamlx.Find(spec, "values"), mayMiss(spec) || mayMiss(node), yamlx.Text(spec, "mergeStrategy") == "fallback")
	if err != nil {
		return env, err
	}
	defaults, err := r.Values(ctx, s, yamlx.Find(node, "values"), mayMiss(node), false)
	if err != nil {
		return env, err
	}
	return environment{defaults: merge(env.defaults, defaults), values: merge(env.values, values)}, nil
}

// mayMiss reports whether a missing file of values is no error.
func mayMiss(n *yamlv3.Node) bool {
	return slices.Contains([]string{"Warn", "Info", "Debug"}, yamlx.Text(n, "missingFileHandler"))
}

// Values merges a list of values for state files: mappings, and files, which may be templates. The
// later one wins, or with fallback the earlier one, which a later template sees too.
func (r *Reader) Values(ctx context.Context, s *State, list *yamlv3.Node, mayMiss, fallback bool) (map[string]any, error) {
	all := map[string]any{}
	add := func(n *yamlv3.Node, file string) error {
		values := map[string]any{}
		if err := n.Decode(&values); err != nil {
			return r.Repo.BadAt(s.Object, n, "values of helmfile%s: %w", file, err)
		}
		if fallback {
			all = merge(values, all)
		} else {
			all = replace(all, values)
		}
		return nil
	}
	if list == nil {
		return all, nil
	}
	for _, item := range list.Content {
		if item.Kind == yamlv3.MappingNode {
			if err := add(item, ""); err != nil {
				return nil, err
			}
			continue
		}
		files, err := r.files(s, item)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 && mayMiss {
			r.Note("values file %s is left out: it does not exist, and missingFileHandler is set", item.Value)
			continue
		}
		if len(files) == 0 {
			return nil, r.Repo.BadAt(s.Object, item, "the file of values %s is no file of this repository", item.Value)
		}
		for _, file := range files {
			env := s.env
			if fallback {
				env.values = merge(all, env.values)
			}
			seen := *s
			seen.env = env
			content, err := r.Repo.Read(file)
			if err != nil {
				return nil, err
			}
			n, err := r.document(ctx, &seen, file, string(content), 0)
			if err != nil {
				return nil, err
			}
			if n != nil {
				if err := add(n, " in "+r.Repo.Shown(file)); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// files are those that a path with wildcards means.
func (r *Reader) files(s *State, item *yamlv3.Node) ([]string, error) {
	at := path.Join(s.Dir, item.Value)
	switch {
	case path.Ext(at) == ".hcl":
		return nil, r.Repo.BadAt(s.Object, item, "%s is written in HCL, which is not read here: want YAML", item.Value)
	case r.Repo.Has(at):
		return []string{at}, nil
	case !strings.ContainsAny(item.Value, "*?["):
		return nil, nil
	}
	all, err := r.Repo.Walk(".", nil)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range all {
		if ok, err := path.Match(at, name); err != nil {
			return nil, r.Repo.BadAt(s.Object, item, "%s: %w", item.Value, err)
		} else if ok {
			found = append(found, name)
		}
	}
	return found, nil
}

// data is what a template sees.
func (r *Reader) data(env environment) map[string]any {
	values := env.merged()
	return map[string]any{
		"Environment": map[string]any{"Name": r.name(), "KubeContext": "", "Values": merge(nil, env.values)},
		"Values":      values, "StateValues": values, "Namespace": "", "KubeContext": "", "Chart": "",
	}
}

// evaluate evaluates a template of a file.
func (r *Reader) evaluate(ctx context.Context, name, text string, data map[string]any) (string, error) {
	if err := r.gather(); err != nil {
		return "", err
	}
	made, asked, err := r.templates.Ask(ctx, texttemplate.Template{Name: name, Text: text, Most: mostRendered, Helmfile: &texttemplate.Helmfile{Dir: path.Dir(name), Files: r.readable}}, data)
	for _, variable := range asked {
		if !slices.Contains(r.asked, variable) {
			r.asked = append(r.asked, variable)
			r.Note("the variable %s, which a template reads from the environment, is empty", variable)
		}
	}
	if m := inError.FindStringSubmatch(fmt.Sprint(err)); m != nil {
		line, _ := strconv.Atoi(m[1])
		err = &templateError{line, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(m[2]), `executing "helmfile" at `), ": ")}
	}
	return made, err
}

// templateError is what is wrong with a template, at a line of it from 1.
type templateError struct {
	line int
	text string
}

func (e *templateError) Error() string { return e.text }

// lineOf is the line that an error of a template names; 1 without one.
func lineOf(err error) int {
	var t *templateError
	if errors.As(err, &t) && t.line > 0 {
		return t.line
	}
	return 1
}

// inError has the line in an error of Go's templates, and the rest.
var inError = regexp.MustCompile(`(?s)^template: [^:]+:(\d+)(?::\d+)?: (.*)$`)

// gather reads the files that functions of a template can read.
func (r *Reader) gather() error {
	if r.readable != nil {
		return nil
	}
	all, err := r.Repo.Walk(".", func(dir string) bool { return path.Base(dir) == ".git" })
	if err != nil {
		return err
	}
	r.readable = map[string]string{}
	size := 0
	for _, name := range all {
		content, err := r.Repo.Read(name)
		if err != nil || len(content) > mostReadable || bytes.IndexByte(content, 0) >= 0 {
			continue // a template that reads it gets an error
		}
		if size += len(content); size > checkout.MostBytes {
			return fmt.Errorf("the repository has more than %d MiB of text, which templates of helmfile might read", checkout.MostBytes>>20)
		}
		r.readable[name] = string(content)
	}
	return nil
}

func mapping(line int) *yamlv3.Node {
	return &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Line: line}
}

// merge lays values over others, as helmfile's MergeMaps: nil replaces nothing, and a list with
// nulls in it only the elements that are none.
func merge(under, over map[string]any) map[string]any {
	all := maps.Clone(under)
	if all == nil {
		all = map[string]any{}
	}
	for key, v := range over {
		have, ok := all[key]
		a, underMap := have.(map[string]any)
		b, overMap := v.(map[string]any)
		c, underList := have.([]any)
		d, overList := v.([]any)
		switch {
		case v == nil && ok:
		case underMap && overMap:
			all[key] = merge(a, b)
		case underList && overList && slices.Contains(d, nil):
			list := append(slices.Clone(c), make([]any, max(0, len(d)-len(c)))...)
			for i, item := range d {
				if item != nil {
					list[i] = item
				}
			}
			all[key] = list
		default:
			all[key] = v
		}
	}
	return all
}

// replace lays values over others, as the library that helmfile uses for a list of files: what is
// empty replaces too, and lists are replaced.
func replace(under, over map[string]any) map[string]any {
	all := maps.Clone(under)
	for key, v := range over {
		a, underMap := all[key].(map[string]any)
		if b, overMap := v.(map[string]any); underMap && overMap {
			all[key] = replace(a, b)
		} else {
			all[key] = v
		}
	}
	return all
}

// Named gives the files, or the directories, that an entry of helmfiles names, sorted.
func (r *Reader) Named(s *State, item *yamlv3.Node, name string) ([]string, error) {
	if !strings.ContainsAny(name, "*?[") {
		return []string{path.Join(s.Dir, name)}, nil
	}
	found, err := r.files(s, &yamlv3.Node{Kind: yamlv3.ScalarNode, Value: name, Line: item.Line})
	if err == nil && len(found) == 0 {
		err = r.Repo.BadAt(s.Object, item, "no file of this repository is called like %s", name)
	}
	return found, err
}
