package app

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/app/sops"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// noSubstitution is the label or annotation, with the value disabled, of an object that Flux takes
// as it is.
const noSubstitution = "kustomize.toolkit.fluxcd.io/substitute"

// variable is the form of a variable's name that Flux takes.
var variable = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// substituted gives the objects of a Kustomization with the variables of spec.postBuild replaced, as
// Flux replaces them: in the text of each object, once Kustomize has made it. One that is not set is
// empty, if its place has no default.
func (f *fluxApp) substituted(o object, objects []object) ([]object, error) {
	post := yamlx.Find(o.node, "spec", "postBuild")
	if post == nil || post.Kind != yamlv3.MappingNode {
		return objects, nil
	}
	for i := 0; i+1 < len(post.Content); i += 2 {
		if key := post.Content[i]; key.Value != "substitute" && key.Value != "substituteFrom" {
			return nil, f.repo.badAt(o, key, "spec.postBuild.%s of Kustomization %s is not understood", key.Value, o.name())
		}
	}
	vars, err := f.variables(o, post)
	if err != nil || len(vars) == 0 {
		return objects, err
	}
	var all []object
	for _, inner := range objects {
		meta := yamlx.Find(inner.node, "metadata")
		if yamlx.Text(meta, "labels", noSubstitution) == "disabled" || yamlx.Text(meta, "annotations", noSubstitution) == "disabled" {
			all = append(all, inner)
			continue
		}
		made, err := f.substitute(inner, vars)
		if err != nil {
			return nil, f.repo.bad(inner, nil, "%s %s, with the variables of Kustomization %s (%s): %w", inner.kind(), inner.name(), o.name(), f.repo.at(o), err)
		}
		all = append(all, made)
	}
	return all, nil
}

// variables are those of a Kustomization: its own, over those of ConfigMaps and Secrets.
func (f *fluxApp) variables(o object, post *yamlv3.Node) (map[string]string, error) {
	vars := map[string]string{}
	if list := yamlx.Find(post, "substituteFrom"); list != nil {
		for _, ref := range list.Content {
			if err := f.variablesFrom(o, ref, vars); err != nil {
				return nil, err
			}
		}
	}
	if own := yamlx.Find(post, "substitute"); own != nil && own.Kind == yamlv3.MappingNode {
		for i := 0; i+1 < len(own.Content); i += 2 {
			vars[own.Content[i].Value] = own.Content[i+1].Value
		}
	}
	for name, value := range vars {
		if !variable.MatchString(name) {
			return nil, f.repo.badAt(o, post, "variable %q of Kustomization %s: Flux takes letters, digits and _, and no digit in front", name, o.name())
		}
		vars[name] = strings.ReplaceAll(value, "\n", "")
	}
	return vars, nil
}

// variablesFrom adds the variables of a ConfigMap or Secret, which must be among the files.
func (f *fluxApp) variablesFrom(o object, ref *yamlv3.Node, into map[string]string) error {
	kind, name := yamlx.Text(ref, "kind"), yamlx.Text(ref, "name")
	at := slices.IndexFunc(f.values, func(v object) bool {
		return v.kind() == kind && v.name() == name && yamlx.Text(v.node, "metadata", "namespace") == yamlx.Text(o.node, "metadata", "namespace")
	})
	if at < 0 {
		if yamlx.Text(ref, "optional") == "true" {
			return nil
		}
		return f.repo.badAt(o, ref, "Kustomization %s has variables from %s %s, which no file read before it has: set optional, or run a path that has it", o.name(), kind, name)
	}
	from := f.values[at]
	if sops.Encrypted(from.node) {
		return f.repo.badAt(o, ref, "the variables of %s %s (%s), for Kustomization %s, are encrypted by SOPS, whose key is not here: run a copy of the path with test values", kind, name, f.repo.at(from), o.name())
	}
	for _, field := range []string{"data", "stringData"} {
		data := yamlx.Find(from.node, field)
		if data == nil || data.Kind != yamlv3.MappingNode {
			continue
		}
		for i := 0; i+1 < len(data.Content); i += 2 {
			value := data.Content[i+1].Value
			if kind == "Secret" && field == "data" {
				text, err := base64.StdEncoding.DecodeString(value)
				if err != nil {
					return f.repo.badAt(from, data.Content[i+1], "%s of Secret %s: %w", data.Content[i].Value, name, err)
				}
				value = string(text)
			}
			into[data.Content[i].Value] = value
		}
	}
	return nil
}

// substitute replaces the variables in one object. Its lines stay those of its file.
func (f *fluxApp) substitute(o object, vars map[string]string) (object, error) {
	var fields map[string]any
	if err := o.node.Decode(&fields); err != nil {
		return o, err
	}
	text, err := yaml.Marshal(fields) // as Flux writes it: what has quotes there decides a value's type
	if err != nil {
		return o, err
	}
	replaced, unset := envsubst.Eval(string(text), func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if unset != nil {
		if replaced, err = envsubst.Eval(string(text), func(name string) (string, bool) { return vars[name], true }); err != nil {
			return o, err
		}
		f.unknown("%s %s (%s): Flux replaces a variable that nothing sets by an empty text: %v; write $${NAME} to keep it", o.kind(), o.name(), f.repo.at(o), unset)
	}
	if replaced == string(text) {
		return o, nil
	}
	docs, err := yamlx.Documents([]byte(replaced))
	if err != nil {
		return o, fmt.Errorf("it is no YAML any more: %w", err)
	}
	if len(docs) != 1 || len(docs[0].Content) != 1 || docs[0].Content[0].Kind != yamlv3.MappingNode {
		return o, errors.New("it is no object any more")
	}
	made := object{o.file, docs[0].Content[0]}
	sameLines(made.node, o.node, o.node.Line)
	return made, nil
}

// sameLines gives a node and those in it the lines of the node that it was made from; what that does
// not have is on the line around it.
func sameLines(n, from *yamlv3.Node, around int) {
	if n.Line = around; from != nil {
		n.Line = from.Line
	}
	for i, c := range n.Content {
		var old *yamlv3.Node
		switch {
		case n.Kind == yamlv3.MappingNode && i%2 == 0:
			continue
		case n.Kind == yamlv3.MappingNode:
			key := n.Content[i-1]
			old = yamlx.Find(from, key.Value)
			key.Line = keyLine(from, key.Value, n.Line)
		case from != nil && from.Kind == yamlv3.SequenceNode && i < len(from.Content):
			old = from.Content[i]
		}
		sameLines(c, old, n.Line)
	}
}

// keyLine is the line of a mapping's key, or around.
func keyLine(from *yamlv3.Node, key string, around int) int {
	for i := 0; from != nil && from.Kind == yamlv3.MappingNode && i+1 < len(from.Content); i += 2 {
		if from.Content[i].Value == key {
			return from.Content[i].Line
		}
	}
	return around
}
