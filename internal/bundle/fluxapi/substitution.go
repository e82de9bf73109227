package fluxapi

// substitution.go replaces variables in objects as Flux does (postBuild of a Kustomization). It must not
// know files, charts or clusters.

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/envsubst"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// SubstitutionData is what a ConfigMap or a Secret has. An error comes with its place.
func SubstitutionData(n *yamlv3.Node) (all map[string]string, at *yamlv3.Node, err error) {
	all = map[string]string{}
	for _, field := range []string{"data", "stringData"} {
		data := yamlx.Find(n, field)
		if data == nil || data.Kind != yamlv3.MappingNode {
			continue
		}
		for i := 0; i+1 < len(data.Content); i += 2 {
			key, value := data.Content[i].Value, data.Content[i+1].Value
			if yamlx.Text(n, "kind") == "Secret" && field == "data" {
				text, err := base64.StdEncoding.DecodeString(value)
				if err != nil {
					return nil, data.Content[i+1], fmt.Errorf("%s: %w", key, err)
				}
				value = string(text)
			}
			all[key] = value
		}
	}
	return all, nil, nil
}

// UsedVariables are those of these variables that an object has.
func UsedVariables(n *yamlv3.Node, names []string) (used []string) {
	text, err := marshalled(n)
	if err != nil || len(names) == 0 {
		return nil // replacing them says what is wrong
	}
	_, _ = envsubst.Eval(text, func(name string) (string, bool) {
		if slices.Contains(names, name) && !slices.Contains(used, name) {
			used = append(used, name)
		}
		return "", true
	})
	return used
}

// marshalled is an object as Flux writes it: what has quotes there decides a value's type.
func marshalled(n *yamlv3.Node) (string, error) {
	var fields map[string]any
	if err := n.Decode(&fields); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(fields)
	return string(text), err
}

// Substitute replaces the variables in an object; made is nil if it has none. One that nothing sets, and that
// has no default, is an error: kustomize-controller has the gate StrictPostBuildSubstitutions on since 1.9. Before that
// it is empty, for which unsetIsEmpty is.
func Substitute(n *yamlv3.Node, vars map[string]string, unsetIsEmpty bool) (made *yamlv3.Node, err error) {
	text, err := marshalled(n)
	if err != nil {
		return nil, err
	}
	unset := ""
	replaced, err := envsubst.Eval(text, func(name string) (string, bool) {
		v, ok := vars[name]
		if !ok {
			unset = name // the error is about the last: one before has a default
		}
		return v, ok || unsetIsEmpty
	})
	if err != nil {
		if unset != "" {
			err = fmt.Errorf("%w; set %s in postBuild, write a default such as ${%[2]s:=}, or $${%[2]s} to keep the text", err, unset)
		}
		return nil, err
	}
	if replaced == text {
		return nil, nil
	}
	docs, err := yamlx.Documents([]byte(replaced))
	if err != nil {
		return nil, fmt.Errorf("it is no YAML any more: %w", err)
	}
	if len(docs) != 1 || len(docs[0].Content) != 1 || docs[0].Content[0].Kind != yamlv3.MappingNode {
		return nil, errors.New("it is no object any more")
	}
	return docs[0].Content[0], nil
}
