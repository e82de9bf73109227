package argoapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"dario.cat/mergo"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

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
func (s GeneratorSource) matrix(n *yamlv3.Node, depth int) ([]map[string]any, error) {
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
	return mergo.Merge(&params, runtime.DeepCopyJSON(over), mergo.WithOverride) // a copy, since mergo changes what it is given
}

// merge lays sets of later generators over those of the first that have the same values under its keys.
func (s GeneratorSource) merge(n *yamlv3.Node, depth int) ([]map[string]any, error) {
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
