package statefile

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// environment is what templates see of an environment: values of the state files themselves
// (defaults), and over these those of the environment.
type environment struct{ defaults, values map[string]any }

func (e environment) merged() map[string]any { return merge(e.defaults, e.values) }

// environment is a document's environment, laid over the one before it.
func (r *Reader) environment(ctx context.Context, s *State, node *yamlv3.Node) (environment, error) {
	env := s.env
	spec := yamlx.Find(node, "environments", r.name())
	if n := yamlx.Find(spec, "secrets"); n != nil {
		return env, r.Repo.BadAt(s.Object, n, "the secrets of environment %s are values that SOPS has encrypted, and their key is not here: run a copy of the file with test values", r.name())
	}
	values, err := r.Values(ctx, s, yamlx.Find(spec, "values"), MayMiss(spec) || MayMiss(node), yamlx.Text(spec, "mergeStrategy") == "fallback")
	if err != nil {
		return env, err
	}
	defaults, err := r.Values(ctx, s, yamlx.Find(node, "values"), MayMiss(node), false)
	if err != nil {
		return env, err
	}
	return environment{defaults: merge(env.defaults, defaults), values: merge(env.values, values)}, nil
}

// MayMiss reports whether a missing file of values is no error, as missingFileHandler of a file, an
// environment or a release says.
func MayMiss(n *yamlv3.Node) bool {
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
			return nil, r.Repo.BadAt(s.Object, item, "the file of values %s is no file of this repository%s", item.Value, r.Repo.Only())
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
