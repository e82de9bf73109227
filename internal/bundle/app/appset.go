package app

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const kindApplicationSet = "ApplicationSet"

// mostGenerated is how many Applications an ApplicationSet may generate.
const mostGenerated = 200

// generated gives the Applications of an ApplicationSet whose generators are lists, files of this
// repository, and the cluster. What depends on other things, e.g. pull requests, is refused.
func (l *layout) generated(o object) ([]object, error) {
	list := yamlx.Find(o.node, "spec", "generators")
	if list == nil || len(list.Content) == 0 {
		return nil, l.repo.bad(o, []string{"spec"}, "ApplicationSet %s has no generators", o.name())
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
		return nil, l.repo.bad(o, []string{"spec", "generators"}, "ApplicationSet %s generates no Application from the files here", o.name())
	}
	var names []string
	for _, a := range all {
		names = append(names, a.name())
	}
	l.override("ApplicationSet %s (%s) is replaced by the Applications that it generates: %s", o.name(), l.repo.at(o), strings.Join(names, ", "))
	return all, nil
}

// parameters gives the parameters of each Application that a generator makes.
func (l *layout) parameters(o object, g *yamlv3.Node, outer bool) ([]map[string]any, error) {
	keys := slices.DeleteFunc(yamlx.Keys(g), func(key string) bool { return key == "selector" || key == "template" })
	if len(keys) != 1 || yamlx.Find(g, "selector") != nil || yamlx.Find(g, "template") != nil {
		return nil, l.repo.badAt(o, g, "a generator of ApplicationSet %s is not understood: want one of list, git, clusters and matrix, without selector and template", o.name())
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
		l.override("ApplicationSet %s: the cell's cluster stands for the clusters that it selects", o.name())
		sets = []map[string]any{{"name": "in-cluster", "nameNormalized": "in-cluster", "server": localServer, "project": "", "metadata": map[string]any{"labels": map[string]any{}, "annotations": map[string]any{}}}}
	case keys[0] == "matrix" && outer:
		sets, err = l.product(o, inner)
	default:
		return nil, l.repo.badAt(o, g, "the generator %s of ApplicationSet %s depends on more than this repository: want list, git, clusters, or a matrix of these", keys[0], o.name())
	}
	if err != nil {
		return nil, err
	}
	var more map[string]any
	if n := yamlx.Find(inner, "values"); n != nil {
		if err := n.Decode(&more); err != nil {
			return nil, l.repo.badAt(o, n, "values of a generator of ApplicationSet %s: %w", o.name(), err)
		}
		for _, params := range sets {
			params["values"] = more
		}
	}
	if len(sets) > mostGenerated {
		return nil, l.repo.badAt(o, g, "ApplicationSet %s generates more than %d Applications", o.name(), mostGenerated)
	}
	return sets, nil
}

func (l *layout) listed(o object, list *yamlv3.Node) ([]map[string]any, error) {
	var sets []map[string]any
	elements := yamlx.Find(list, "elements")
	if elements == nil {
		return nil, l.repo.badAt(o, list, "the list of ApplicationSet %s has no elements", o.name())
	}
	for _, n := range elements.Content {
		params := map[string]any{}
		if err := n.Decode(&params); err != nil {
			return nil, l.repo.badAt(o, n, "an element of ApplicationSet %s: %w", o.name(), err)
		}
		sets = append(sets, params)
	}
	return sets, nil
}

// product joins each set of one generator with each of another.
func (l *layout) product(o object, matrix *yamlv3.Node) ([]map[string]any, error) {
	list := yamlx.Find(matrix, "generators")
	if list == nil || len(list.Content) != 2 {
		return nil, l.repo.badAt(o, matrix, "the matrix of ApplicationSet %s is not understood: want two generators", o.name())
	}
	if strings.Contains(textOf(list), "{{") {
		return nil, l.repo.badAt(o, matrix, "the matrix of ApplicationSet %s has a generator with parameters of the other one, which is not understood", o.name())
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

func textOf(n *yamlv3.Node) string {
	text := n.Value
	for _, c := range n.Content {
		text += "\n" + textOf(c)
	}
	return text
}

// inGit gives the parameters of directories or files of this repository.
func (l *layout) inGit(o object, git *yamlv3.Node) ([]map[string]any, error) {
	if at := yamlx.Text(git, "repoURL"); !l.repo.own(at) {
		return nil, l.repo.badAt(o, git, "a generator of ApplicationSet %s: %s", o.name(), l.repo.notOwn(at))
	}
	files, err := l.repo.walk(".", nil)
	if err != nil {
		return nil, err
	}
	list, ofFiles := yamlx.Find(git, "directories"), false
	names := files
	if list == nil {
		list, ofFiles = yamlx.Find(git, "files"), true
	} else {
		names = directories(files)
	}
	if list == nil {
		return nil, l.repo.badAt(o, git, "a generator of ApplicationSet %s has neither directories nor files", o.name())
	}
	var sets []map[string]any
	for _, name := range names {
		if !selected(list, name) {
			continue
		}
		params := map[string]any{}
		if ofFiles {
			content, err := l.repo.read(name)
			if err != nil {
				return nil, err
			}
			if err := yaml.Unmarshal(content, &params); err != nil {
				return nil, l.repo.badAt(o, git, "%s, a file of ApplicationSet %s: %w", l.repo.shown(name), o.name(), err)
			}
			name = path.Dir(name)
		}
		at := map[string]any{"path": name, "basename": path.Base(name), "basenameNormalized": normalized(path.Base(name))}
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

// directories are those of files, sorted.
func directories(files []string) []string {
	all := map[string]bool{}
	for _, name := range files {
		for dir := path.Dir(name); dir != "." && !all[dir]; dir = path.Dir(dir) {
			all[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// selected reports whether a pattern of a list selects a path, and none excludes it. Hidden
// directories are never selected. A ** stands for any number of directories, as in Argo CD.
func selected(list *yamlv3.Node, name string) bool {
	if strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return false
	}
	yes := false
	for _, n := range list.Content {
		if !glob(yamlx.Text(n, "path")).MatchString(name) {
			continue
		}
		if yamlx.Text(n, "exclude") == "true" {
			return false
		}
		yes = true
	}
	return yes
}

func glob(pattern string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.Trim(pattern, "/"))
	text = strings.NewReplacer(`\*\*/`, "(.*/)?", `\*\*`, ".*", `\*`, "[^/]*", `\?`, "[^/]").Replace(text)
	return regexp.MustCompile("^" + text + "$")
}

// normalized is a name as Argo CD makes it one of an object.
func normalized(name string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9.-]+`).ReplaceAllString(strings.ToLower(name), "-"), "-.")
}

// instance is the Application for one set of parameters. Its lines are those of the template.
func (l *layout) instance(o object, params map[string]any) (object, error) {
	for _, key := range []string{"templatePatch"} {
		if n := yamlx.Find(o.node, "spec", key); n != nil {
			return object{}, l.repo.badAt(o, n, "%s of ApplicationSet %s is not understood", key, o.name())
		}
	}
	template := yamlx.Clone(yamlx.Find(o.node, "spec", "template"))
	if template == nil || yamlx.Find(template, "spec") == nil {
		return object{}, l.repo.bad(o, []string{"spec"}, "ApplicationSet %s has no template", o.name())
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
	if yamlx.Text(o.node, "spec", "goTemplate") == "true" {
		texts, err = l.evaluated(texts, params)
	} else {
		texts, err = filled(texts, params)
	}
	if err != nil {
		return object{}, l.repo.bad(o, []string{"spec", "template"}, "the template of ApplicationSet %s: %w", o.name(), err)
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
	return object{o.file, node}, nil
}

// filled replaces parameters of the form {{path.basename}}.
func filled(texts []string, params map[string]any) ([]string, error) {
	flat := map[string]string{}
	flatten("", params, flat)
	if at, ok := params["path"].(map[string]any); ok { // {{path}} is the path itself
		flat["path"] = fmt.Sprint(at["path"])
		segments, _ := at["segments"].([]any)
		for i, s := range segments {
			flat["path["+strconv.Itoa(i)+"]"] = fmt.Sprint(s)
		}
	}
	var unknown string
	var all []string
	for _, text := range texts {
		all = append(all, regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`).ReplaceAllStringFunc(text, func(match string) string {
			name := strings.TrimSpace(strings.Trim(match, "{}"))
			value, ok := flat[name]
			if !ok {
				unknown = match
			}
			return value
		}))
	}
	if unknown != "" {
		return nil, fmt.Errorf("no generator has the parameter %s; there are %s", unknown, strings.Join(slices.Sorted(maps.Keys(flat)), ", "))
	}
	return all, nil
}

func flatten(at string, value any, into map[string]string) {
	inner, ok := value.(map[string]any)
	if !ok {
		into[at] = fmt.Sprint(value)
		return
	}
	for key, v := range inner {
		flatten(strings.TrimPrefix(at+"."+key, "."), v, into)
	}
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
