package app

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/app/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/app/generators"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const kindApplicationSet = "ApplicationSet"

// mostGenerated is how many Applications an ApplicationSet may generate.
const mostGenerated = 200

// generated gives the Applications of an ApplicationSet whose generators are lists, files of this
// repository, and the cluster. What depends on other things, e.g. pull requests, is refused.
func (l *layout) generated(o object) ([]object, error) {
	list := yamlx.Find(o.Node, "spec", "generators")
	if list == nil || len(list.Content) == 0 {
		return nil, l.repo.Bad(o, []string{"spec"}, "ApplicationSet %s has no generators", o.Name())
	}
	var all []object
	for _, g := range list.Content {
		sets, err := l.parameters(o, g, true)
		if err != nil {
			return nil, err
		}
		for _, params := range sets {
			a, err := l.instance(o, params)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, l.repo.Bad(o, []string{"spec", "generators"}, "ApplicationSet %s generates no Application from the files here", o.Name())
	}
	if yamlx.Text(o.Node, "spec", "strategy", "type") == "RollingSync" {
		l.unknown("ApplicationSet %s (%s): the order of its strategy, RollingSync", o.Name(), l.repo.At(o))
	}
	var names []string
	for _, a := range all {
		names = append(names, a.Name())
	}
	l.override("ApplicationSet %s (%s) is replaced by the Applications that it generates: %s", o.Name(), l.repo.At(o), strings.Join(names, ", "))
	return all, nil
}

// parameters gives the parameters of each Application that a generator makes.
func (l *layout) parameters(o object, g *yamlv3.Node, outer bool) ([]map[string]any, error) {
	keys := slices.DeleteFunc(yamlx.Keys(g), func(key string) bool { return key == "selector" || key == "template" })
	if len(keys) != 1 || yamlx.Find(g, "selector") != nil || yamlx.Find(g, "template") != nil {
		return nil, l.repo.BadAt(o, g, "a generator of ApplicationSet %s is not understood: want one of list, git, clusters and matrix, without selector and template", o.Name())
	}
	inner := yamlx.Find(g, keys[0])
	var sets []map[string]any
	var err error
	switch {
	case keys[0] == "list":
		sets, err = l.listed(o, inner)
	case keys[0] == "git":
		sets, err = l.inGit(o, inner)
	case keys[0] == "clusters":
		l.override("ApplicationSet %s: the cell's cluster stands for the clusters that it selects", o.Name())
		sets = []map[string]any{{"name": "in-cluster", "nameNormalized": "in-cluster", "server": localServer, "project": "", "metadata": map[string]any{"labels": map[string]any{}, "annotations": map[string]any{}}}}
	case keys[0] == "matrix" && outer:
		sets, err = l.product(o, inner)
	default:
		return nil, l.repo.BadAt(o, g, "the generator %s of ApplicationSet %s depends on more than this repository: want list, git, clusters, or a matrix of these", keys[0], o.Name())
	}
	if err != nil {
		return nil, err
	}
	var more map[string]any
	if n := yamlx.Find(inner, "values"); n != nil {
		if err := n.Decode(&more); err != nil {
			return nil, l.repo.BadAt(o, n, "values of a generator of ApplicationSet %s: %w", o.Name(), err)
		}
		for _, params := range sets {
			params["values"] = more
		}
	}
	if len(sets) > mostGenerated {
		return nil, l.repo.BadAt(o, g, "ApplicationSet %s generates more than %d Applications", o.Name(), mostGenerated)
	}
	return sets, nil
}

func (l *layout) listed(o object, list *yamlv3.Node) ([]map[string]any, error) {
	var sets []map[string]any
	elements := yamlx.Find(list, "elements")
	if elements == nil {
		return nil, l.repo.BadAt(o, list, "the list of ApplicationSet %s has no elements", o.Name())
	}
	for _, n := range elements.Content {
		params := map[string]any{}
		if err := n.Decode(&params); err != nil {
			return nil, l.repo.BadAt(o, n, "an element of ApplicationSet %s: %w", o.Name(), err)
		}
		sets = append(sets, params)
	}
	return sets, nil
}

// product joins each set of one generator with each of another.
func (l *layout) product(o object, matrix *yamlv3.Node) ([]map[string]any, error) {
	list := yamlx.Find(matrix, "generators")
	if list == nil || len(list.Content) != 2 {
		return nil, l.repo.BadAt(o, matrix, "the matrix of ApplicationSet %s is not understood: want two generators", o.Name())
	}
	if strings.Contains(generators.Text(list), "{{") {
		return nil, l.repo.BadAt(o, matrix, "the matrix of ApplicationSet %s has a generator with parameters of the other one, which is not understood", o.Name())
	}
	first, err := l.parameters(o, list.Content[0], false)
	if err != nil {
		return nil, err
	}
	second, err := l.parameters(o, list.Content[1], false)
	if err != nil {
		return nil, err
	}
	var sets []map[string]any
	for _, a := range first {
		for _, b := range second {
			params := maps.Clone(a)
			maps.Copy(params, b)
			sets = append(sets, params)
		}
	}
	return sets, nil
}

// inGit gives the parameters of directories or files of this repository.
func (l *layout) inGit(o object, git *yamlv3.Node) ([]map[string]any, error) {
	if at := yamlx.Text(git, "repoURL"); !l.repo.Own(at) {
		return nil, l.repo.BadAt(o, git, "a generator of ApplicationSet %s: %s", o.Name(), l.repo.NotOwn(at))
	}
	files, err := l.repo.Walk(".", nil)
	if err != nil {
		return nil, err
	}
	list, ofFiles := yamlx.Find(git, "directories"), false
	names := files
	if list == nil {
		list, ofFiles = yamlx.Find(git, "files"), true
	} else {
		names = generators.Directories(files)
	}
	if list == nil {
		return nil, l.repo.BadAt(o, git, "a generator of ApplicationSet %s has neither directories nor files", o.Name())
	}
	var sets []map[string]any
	for _, name := range names {
		if !generators.Selected(list, name) {
			continue
		}
		params := map[string]any{}
		if ofFiles {
			content, err := l.repo.Read(name)
			if err != nil {
				return nil, err
			}
			if err := yaml.Unmarshal(content, &params); err != nil {
				return nil, l.repo.BadAt(o, git, "%s, a file of ApplicationSet %s: %w", l.repo.Shown(name), o.Name(), err)
			}
			name = path.Dir(name)
		}
		at := map[string]any{"path": name, "basename": path.Base(name), "basenameNormalized": generators.Normalized(path.Base(name))}
		var segments []any
		for _, s := range strings.Split(name, "/") {
			segments = append(segments, s)
		}
		at["segments"] = segments
		params["path"] = at
		sets = append(sets, params)
	}
	return sets, nil
}

// instance is the Application for one set of parameters. Its lines are those of the template.
func (l *layout) instance(o object, params map[string]any) (object, error) {
	for _, key := range []string{"templatePatch"} {
		if n := yamlx.Find(o.Node, "spec", key); n != nil {
			return object{}, l.repo.BadAt(o, n, "%s of ApplicationSet %s is not understood", key, o.Name())
		}
	}
	template := yamlx.Clone(yamlx.Find(o.Node, "spec", "template"))
	if template == nil || yamlx.Find(template, "spec") == nil {
		return object{}, l.repo.Bad(o, []string{"spec"}, "ApplicationSet %s has no template", o.Name())
	}
	var scalars []*yamlv3.Node
	var gather func(*yamlv3.Node)
	gather = func(n *yamlv3.Node) {
		if n.Kind == yamlv3.ScalarNode && strings.Contains(n.Value, "{{") {
			scalars = append(scalars, n)
		}
		for _, c := range n.Content {
			gather(c)
		}
	}
	gather(template)
	var texts []string
	for _, n := range scalars {
		texts = append(texts, n.Value)
	}
	var err error
	if yamlx.Text(o.Node, "spec", "goTemplate") == "true" {
		texts, err = l.evaluated(texts, params)
	} else {
		texts, err = generators.Filled(texts, params)
	}
	if err != nil {
		return object{}, l.repo.Bad(o, []string{"spec", "template"}, "the template of ApplicationSet %s: %w", o.Name(), err)
	}
	for i, n := range scalars {
		n.Value, n.Tag = texts[i], "!!str"
	}
	node := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Line: template.Line}
	yamlx.Set(node, "apiVersion", "!!str", "argoproj.io/v1alpha1")
	yamlx.Set(node, "kind", "!!str", kindApplication)
	for _, key := range []string{"metadata", "spec"} {
		if n := yamlx.Find(template, key); n != nil {
			name := scalar(key)
			name.Line = n.Line
			node.Content = append(node.Content, name, n)
		}
	}
	return checkout.New(o.File, node), nil
}

// evaluated evaluates templates of Go, in the process in which charts are rendered: they are
// programs of an untrusted person.
func (l *layout) evaluated(texts []string, params map[string]any) ([]string, error) {
	var text strings.Builder
	for i, t := range texts {
		fmt.Fprintf(&text, "{{- define \"s%d\" -}}%s{{- end }}\n", i, t)
	}
	text.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: texts}\ndata:\n")
	for i := range texts {
		fmt.Fprintf(&text, "  s%d: {{ include \"s%d\" .Values | toJson }}\n", i, i)
	}
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "texts", Version: "0.0.0"}, Templates: []*chart.File{{Name: "templates/texts.yaml", Data: []byte(text.String())}}}
	made, err := l.by.renderer.Release(l.by.ctx, render.Request{Chart: ch, Values: params, Name: "texts", Namespace: "default"})
	if err != nil {
		return nil, err
	}
	var object struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal([]byte(made.Manifest), &object); err != nil {
		return nil, err
	}
	var all []string
	for i := range texts {
		value := object.Data["s"+strconv.Itoa(i)]
		if strings.Contains(value, "<no value>") || texts[i] != "" && value == "" {
			return nil, fmt.Errorf("%s has no value", texts[i])
		}
		all = append(all, value)
	}
	return all, nil
}
