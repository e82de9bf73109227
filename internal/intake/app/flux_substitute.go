package app

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// noSubstitution is the label or annotation, with the value disabled, of an object that Flux takes
// as it is.
const noSubstitution = "kustomize.toolkit.fluxcd.io/substitute"

// variable is the form of a variable's name that Flux takes.
var variable = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// substituted gives the objects of a Kustomization with the variables of spec.postBuild replaced, as
// Flux replaces them: in the text of each object, once Kustomize has made it. One that is not set must have
// a default in its place. Without any variable nothing is replaced, except with the strategy Always.
func (f *fluxApp) substituted(o object, objects []object) ([]object, error) {
	post := yamlx.Find(o.Node, "spec", "postBuild")
	if post == nil || post.Kind != yamlv3.MappingNode {
		return objects, nil
	}
	for i := 0; i+1 < len(post.Content); i += 2 {
		if key := post.Content[i]; !slices.Contains([]string{"substitute", "substituteFrom", "substituteStrategy"}, key.Value) {
			return nil, f.repo.BadAt(o, key, "spec.postBuild.%s of Kustomization %s is not understood", key.Value, o.Name())
		}
	}
	strategy := yamlx.Text(post, "substituteStrategy")
	if !slices.Contains([]string{"", "WithVariables", "Always"}, strategy) {
		return nil, f.repo.BadAt(o, post, "spec.postBuild.substituteStrategy of Kustomization %s is %q; want WithVariables or Always", o.Name(), strategy)
	}
	vars, sealed, err := f.variables(o, post)
	if err == nil && f.cluster.collects {
		for _, inner := range objects {
			if untouched(inner) {
				continue
			}
			for _, name := range fluxapi.UsedVariables(inner.Node, slices.Sorted(maps.Keys(sealed))) {
				f.cluster.Variables[name], vars[name] = madeValue, madeValue
				delete(sealed, name)
			}
			if text, err := yamlx.Encode([]*yamlv3.Node{inner.Node}); err == nil {
				f.cluster.uses(string(text), vars)
			}
		}
	}
	if err != nil || len(vars)+len(sealed) == 0 && strategy != "Always" {
		return objects, err
	}
	var all []object
	for _, inner := range objects {
		if untouched(inner) {
			all = append(all, inner)
			continue
		}
		made, err := f.substitute(inner, vars, sealed)
		if err != nil {
			at := inner.Node
			if m := notSet.FindStringSubmatch(err.Error()); m != nil {
				at = uses(inner.Node, m[1])
			}
			return nil, f.repo.BadAt(inner, at, "%s %s, with the variables of Kustomization %s (%s): %w", inner.Kind(), inner.Name(), o.Name(), f.repo.At(o), err)
		}
		all = append(all, made)
	}
	return all, nil
}

// notSet is Flux's error about a variable without a value.
var notSet = regexp.MustCompile(`variable not set \(strict mode\): "([^"]+)"`)

// uses is the first text of an object that has a variable in it; the object without one.
func uses(o *yamlv3.Node, name string) *yamlv3.Node {
	found := o
	var walk func(n *yamlv3.Node) bool
	walk = func(n *yamlv3.Node) bool {
		if n.Kind == yamlv3.ScalarNode && strings.Contains(n.Value, "${"+name+"}") && n.Line > 0 {
			found = n
			return true
		}
		return slices.ContainsFunc(n.Content, walk)
	}
	walk(o)
	return found
}

// untouched reports whether Flux leaves the variables of an object as they are.
func untouched(o object) bool {
	meta := yamlx.Find(o.Node, "metadata")
	return yamlx.Text(meta, "labels", noSubstitution) == "disabled" || yamlx.Text(meta, "annotations", noSubstitution) == "disabled"
}

// variables are those of a Kustomization: its own, over those of ConfigMaps and Secrets. Sealed are those that
// SOPS has encrypted, with their places.
func (f *fluxApp) variables(o object, post *yamlv3.Node) (vars, sealed map[string]string, err error) {
	vars, sealed = map[string]string{}, map[string]string{}
	if list := yamlx.Find(post, "substituteFrom"); list != nil {
		for _, ref := range list.Content {
			if err := f.variablesFrom(o, ref, vars, sealed); err != nil {
				return nil, nil, err
			}
		}
	}
	if own := yamlx.Find(post, "substitute"); own != nil && own.Kind == yamlv3.MappingNode {
		for i := 0; i+1 < len(own.Content); i += 2 {
			vars[own.Content[i].Value] = own.Content[i+1].Value
			delete(sealed, own.Content[i].Value)
		}
	}
	for name, value := range vars {
		if !variable.MatchString(name) {
			return nil, nil, f.repo.BadAt(o, post, "variable %q of Kustomization %s: Flux takes letters, digits and _, and no digit in front", name, o.Name())
		}
		vars[name] = strings.ReplaceAll(value, "\n", "")
	}
	return vars, sealed, nil
}

// variablesFrom adds the variables of a ConfigMap or Secret, which must be among the files.
func (f *fluxApp) variablesFrom(o object, ref *yamlv3.Node, into, sealed map[string]string) error {
	kind, name := yamlx.Text(ref, "kind"), yamlx.Text(ref, "name")
	i := slices.IndexFunc(f.values, func(v object) bool {
		return v.Kind() == kind && v.Name() == name && yamlx.Text(v.Node, "metadata", "namespace") == yamlx.Text(o.Node, "metadata", "namespace")
	})
	if i < 0 {
		data, there := f.cluster.Of(kind, f.namespaceOf(o), name)
		if there {
			f.override("Kustomization %s has variables from %s %s of the cluster file", o.Name(), kind, name)
			maps.Copy(into, data)
			maps.Copy(into, f.cluster.Variables)
			return nil
		}
		if yamlx.Text(ref, "optional") == "true" {
			return nil
		}
		if in, at := f.valuesElsewhere(kind, name); at != "" {
			return f.repo.BadAt(o, ref, "Kustomization %s has variables from %s %s in its own namespace %s, where Flux looks for it, and it is in %s (%s): apply it in %s too; %s", o.Name(), kind, name, f.namespaceOf(o), in, at, f.namespaceOf(o), clusterLine(kind, f.namespaceOf(o), name))
		}
		return f.repo.BadAt(o, ref, "Kustomization %s has variables from %s %s, which no file read before it has: set optional, or run a path that has it; %s, and the variables beside it: `variables: {NAME: VALUE}`", o.Name(), kind, name, clusterLine(kind, f.namespaceOf(o), name))
	}
	from := f.values[i]
	open := from.Node
	if fluxapi.IsEncrypted(open) {
		open = yamlx.Clone(open)
		for _, key := range fluxapi.Unseal(open) {
			delete(into, key)
			if value, said := f.cluster.Variables[key]; said {
				f.override("Kustomization %s: variable %s, which SOPS has encrypted in %s %s (%s), has the value of the cluster file", o.Name(), key, kind, name, f.repo.At(from))
				into[key] = value
				delete(sealed, key)
				continue
			}
			sealed[key] = fmt.Sprintf("%s %s (%s)", kind, name, f.repo.At(from))
		}
	}
	data, at, err := fluxapi.SubstitutionData(open)
	if err != nil {
		return f.repo.BadAt(from, at, "%s %s: %w", kind, name, err)
	}
	maps.Copy(into, data)
	maps.DeleteFunc(sealed, func(key, _ string) bool { _, set := data[key]; return set })
	return nil
}

// valuesElsewhere is another namespace that has a ConfigMap or Secret of this name, and its place; empty if none has.
func (f *fluxApp) valuesElsewhere(kind, name string) (namespace, at string) {
	i := slices.IndexFunc(f.values, func(v object) bool { return v.Kind() == kind && v.Name() == name })
	if i < 0 {
		return "", ""
	}
	return f.namespaceOf(f.values[i]), f.repo.At(f.values[i])
}

// substitute replaces the variables in one object. Its lines stay those of its file.
func (f *fluxApp) substitute(o object, vars, sealed map[string]string) (object, error) {
	for _, name := range fluxapi.UsedVariables(o.Node, slices.Sorted(maps.Keys(sealed))) {
		return o, fmt.Errorf("variable %s is encrypted by SOPS in %s, and its key is not here: give it a value in --cluster-file: `variables: {%s: VALUE}`", name, sealed[name], name)
	}
	made, err := fluxapi.Substitute(o.Node, vars, f.unsetIsEmpty)
	if made == nil || err != nil {
		return o, err
	}
	checkout.SameLines(made, o.Node, o.Node.Line)
	return checkout.New(o.File, made), nil
}
