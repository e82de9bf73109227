package statefile

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// mostRounds is how often helmfile evaluates the fields of a release, which may name each other.
const mostRounds = 6

// Fields of a release that helmfile evaluates as templates, whatever the file's name.
func evaluated() []string { return []string{"name", "chart", "namespace", "version"} }

// decided are fields that have a template of their own.
func decided() map[string]string {
	return map[string]string{"installedTemplate": "installed", "conditionTemplate": "condition", "waitTemplate": "wait", "verifyTemplate": "verify"}
}

// Settle makes a release what helmfile installs: with what it inherits, and its fields evaluated. It
// reports whether the release is installed in this environment, and else why not.
func (r *Reader) Settle(ctx context.Context, s *State, release *yamlv3.Node) (installed bool, why string, err error) {
	if err := r.inherit(s, release, nil); err != nil {
		return false, "", err
	}
	if ns := yamlx.Text(s.Node, "namespace"); ns != "" {
		yamlx.Set(release, "namespace", "!!str", ns)
	}
	if n := yamlx.Find(release, "installed"); n != nil && n.Kind == yamlv3.ScalarNode {
		if err := n.Decode(new(bool)); err != nil {
			return false, "", r.Repo.BadAt(s.Object, n, "installed of release %s is %q, and helmfile takes no text for it: write true or false, or installedTemplate", yamlx.Text(release, "name"), n.Value)
		}
	}
	if err := r.fields(ctx, s, release); err != nil {
		return false, "", err
	}
	// helmfile reads the condition of a release that is not installed, too, and refuses one that it cannot read.
	condition := yamlx.Text(release, "condition")
	yamlx.Drop(release, "condition")
	met, err := enabled(condition, s.env.merged())
	if err != nil {
		return false, "", r.Repo.BadAt(s.Object, release, "condition of release %s: %w", yamlx.Text(release, "name"), err)
	}
	on := true
	if err := yamlv3.Unmarshal([]byte(yamlx.Text(release, "installed")), &on); err == nil && !on { // no, and off, are false too
		return false, "installed is false", nil
	}
	return met, "its condition " + condition + " is not true in the environment " + r.name(), nil
}

// inherit adds to a release what the templates that it names have.
func (r *Reader) inherit(s *State, release *yamlv3.Node, path []string) error {
	var names []*yamlv3.Node
	if list := yamlx.Find(s.Node, "defaultInherit"); list != nil && path == nil {
		if list.Kind == yamlv3.ScalarNode {
			names = append(names, list)
		}
		for _, n := range list.Content {
			if n.Kind != yamlv3.ScalarNode {
				return r.Repo.BadAt(s.Object, n, "defaultInherit has names of templates, and this entry is none: helmfile refuses it; write - NAME")
			}
		}
		names = append(names, list.Content...)
	}
	if list := yamlx.Find(release, "inherit"); list != nil {
		names = append(names, list.Content...)
	}
	yamlx.Drop(release, "inherit")
	done, whole := map[string]bool{}, mapping(release.Line)
	for _, n := range names {
		name := n.Value
		if n.Kind == yamlv3.MappingNode {
			name = yamlx.Text(n, "template")
		}
		if name == "" || done[name] {
			continue
		}
		done[name] = true
		template := yamlx.Clone(yamlx.Find(s.Node, "templates", name))
		if template == nil {
			return r.Repo.BadAt(s.Object, n, "there is no template %q under templates", name)
		}
		if slices.Contains(path, name) {
			return r.Repo.BadAt(s.Object, n, "the template %s inherits itself", name)
		}
		if err := r.inherit(s, template, append(slices.Clone(path), name)); err != nil {
			return err
		}
		if except := yamlx.Find(n, "except"); except != nil {
			for _, e := range except.Content {
				yamlx.Drop(template, e.Value)
			}
		}
		overlay(whole, template, true)
	}
	overlay(whole, release, true)
	release.Content = whole.Content
	return nil
}

// fields evaluates those fields of a release that are templates.
func (r *Reader) fields(ctx context.Context, s *State, release *yamlv3.Node) error {
	var texts []*yamlv3.Node
	for _, key := range evaluated() {
		n := yamlx.Find(release, key)
		if n != nil && n.Kind != yamlv3.ScalarNode {
			return r.Repo.BadAt(s.Object, n, "the %s of a release is a text; only a file whose name ends in %s is a template of helmfile", key, Template)
		}
		texts = append(texts, n)
	}
	for from := range decided() {
		texts = append(texts, yamlx.Find(release, from))
	}
	for _, key := range []string{"needs", "values", "secrets"} {
		if list := yamlx.Find(release, key); list != nil {
			texts = append(texts, list.Content...)
		}
	}
	if labels := yamlx.Find(release, "labels"); labels != nil {
		texts = append(texts, labels.Content...)
	}
	for _, key := range []string{"valuesTemplate", "setTemplate"} {
		texts = append(texts, scalars(yamlx.Find(release, key))...)
	}
	texts = slices.DeleteFunc(texts, func(n *yamlv3.Node) bool {
		return n == nil || n.Kind != yamlv3.ScalarNode || !strings.Contains(n.Value, "{{")
	})
	original := make([]string, len(texts))
	for i, n := range texts {
		original[i] = n.Value
	}
	for round := 0; len(texts) > 0; round++ {
		data, same := r.releaseData(s, release), true
		for i, n := range texts {
			made, err := r.evaluate(ctx, s.Dir+"/field", original[i], data)
			if err != nil {
				return r.Repo.BadAt(s.Object, n, "%s of release %s: %w", original[i], yamlx.Text(release, "name"), err)
			}
			if made = strings.TrimSpace(made); made != n.Value {
				n.Value, same = made, false
			}
		}
		if same {
			break
		}
		if round == mostRounds {
			return r.Repo.BadAt(s.Object, release, "the fields of release %s name each other without end", yamlx.Text(release, "name"))
		}
	}
	for from, to := range decided() {
		if n := yamlx.Find(release, from); n != nil {
			if yamlv3.Unmarshal([]byte(n.Value), new(bool)) != nil {
				return r.Repo.BadAt(s.Object, n, "%s of release %s becomes %q, which is neither true nor false: helmfile refuses it", from, yamlx.Text(release, "name"), n.Value)
			}
			yamlx.Drop(release, from)
			yamlx.Set(release, to, "!!bool", n.Value)
		}
	}
	for from, to := range map[string]string{"valuesTemplate": "values", "setTemplate": "set"} {
		if list := yamlx.Find(release, from); list != nil {
			yamlx.Drop(release, from)
			if own := yamlx.Find(release, to); own != nil {
				list.Content = append(list.Content, own.Content...)
				yamlx.Drop(release, to)
			}
			release.Content = append(release.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: to, Line: list.Line}, list)
		}
	}
	return nil
}

// scalars are the texts in a node that are templates. What one becomes stays a text, since helmfile
// writes its quotes again.
func scalars(n *yamlv3.Node) (all []*yamlv3.Node) {
	if n == nil {
		return nil
	}
	if n.Kind == yamlv3.ScalarNode && strings.Contains(n.Value, "{{") {
		all = append(all, n)
	}
	for _, c := range n.Content {
		all = append(all, scalars(c)...)
	}
	return all
}

func (r *Reader) releaseData(s *State, release *yamlv3.Node) map[string]any {
	data := r.data(s.env)
	labels := map[string]any{}
	if n := yamlx.Find(release, "labels"); n != nil {
		_ = n.Decode(&labels) // what is no mapping is refused with the fields
	}
	for i, list := 0, yamlx.Find(s.Node, "commonLabels"); list != nil && i+1 < len(list.Content); i += 2 {
		labels[list.Content[i].Value] = list.Content[i+1].Value
	}
	data["Release"] = map[string]any{
		"Name": yamlx.Text(release, "name"), "Namespace": yamlx.Text(release, "namespace"), "Chart": yamlx.Text(release, "chart"),
		"ChartVersion": yamlx.Text(release, "version"), "Labels": labels, "KubeContext": "",
	}
	return data
}

// ValuesFile reads a file of values for a release, evaluated if it is a template, with the line in
// the file for each of its lines; nil for the same ones.
func (r *Reader) ValuesFile(ctx context.Context, s *State, release *yamlv3.Node, at string) ([]byte, map[int]int, error) {
	content, err := r.Repo.Read(at)
	if err != nil || path.Ext(at) != Template {
		return content, nil, err
	}
	data := r.releaseData(s, release)
	of := data["Release"].(map[string]any)
	labels := of["Labels"].(map[string]any) // with these, by which --selector finds a release, from here on
	labels["name"], labels["namespace"], labels["chart"] = of["Name"], of["Namespace"], path.Base(yamlx.Text(release, "chart"))
	made, err := r.evaluate(ctx, at, string(content), data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s:%d: %w", r.Repo.Shown(at), lineOf(err), err)
	}
	lines := map[int]int{}
	for i, line := range aligned(string(content), made) {
		lines[i+1] = line
	}
	return []byte(made), lines, nil
}

// enabled reports what the condition of a release says: a.b.enabled is the path of a value.
func enabled(condition string, values map[string]any) (bool, error) {
	switch strings.ToLower(condition) {
	case "", "true":
		return true, nil
	case "false":
		return false, nil
	}
	keys := strings.Split(condition, ".")
	if keys[len(keys)-1] != "enabled" {
		return false, fmt.Errorf("%q is no path that ends in .enabled", condition)
	}
	for _, key := range keys[:len(keys)-1] {
		next, ok := values[key].(map[string]any)
		if !ok {
			return false, fmt.Errorf("%s: no environment has a mapping %q among its values; there are: %s", condition, key, strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		values = next
	}
	on, _ := values["enabled"].(bool)
	return on, nil
}
