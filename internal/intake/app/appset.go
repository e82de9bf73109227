package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
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
	left := false
	for _, g := range list.Content {
		sets, err := l.parameters(o, g)
		if errors.Is(err, argoapi.ErrLeftOut) {
			left = true
			l.unknown("ApplicationSet %s: what its generator makes (%s), since the repository that it looks through is left out", o.Name(), l.repo.Origin(o, g.Line))
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(sets) == 0 {
			l.unknown("ApplicationSet %s: a generator (%s) matches nothing here", o.Name(), l.repo.Origin(o, g.Line))
		}
		for _, params := range sets {
			a, err := l.instance(o, params)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
	}
	if len(all) == 0 && left {
		return nil, nil
	}
	if len(all) == 0 {
		return nil, l.repo.Bad(o, []string{"spec", "generators"}, "ApplicationSet %s generates no Application from the files here", o.Name())
	}
	if yamlx.Text(o.Node, "spec", "strategy", "type") == "RollingSync" {
		l.unknown("ApplicationSet %s (%s): the order of its strategy, RollingSync", o.Name(), l.repo.At(o))
	}
	var names []string
	for _, a := range all {
		if slices.Contains(names, a.Name()) {
			return nil, l.repo.Bad(o, []string{"spec", "template", "metadata", "name"}, "ApplicationSet %s generates several Applications with the name %s, and Argo CD creates none of them: put into the name what their parameters differ in", o.Name(), a.Name())
		}
		names = append(names, a.Name())
	}
	l.override("ApplicationSet %s (%s) is replaced by the Applications that it generates: %s", o.Name(), l.repo.At(o), strings.Join(names, ", "))
	return all, nil
}

// evaluator is what the generators and the template of an ApplicationSet are evaluated with.
func (l *layout) evaluator(o object) argoapi.GeneratorSource {
	var options []string
	if n := yamlx.Find(o.Node, "spec", "goTemplateOptions"); n != nil {
		for _, c := range n.Content {
			options = append(options, c.Value)
		}
	}
	return argoapi.GeneratorSource{
		Labels: l.cluster.Cluster.Labels, Annotations: l.cluster.Cluster.Annotations,
		Own: l.repo.Own, NotOwn: func(address string) string {
			return l.repo.NotOwn(address) + "; or list what is there in a generator of the type list"
		}, Elsewhere: l.elsewhereOf(o), Read: l.repo.Read, Goes: yamlx.Text(o.Node, "spec", "goTemplate") == "true",
		Files: func() ([]string, error) { return l.repo.Walk(".", nil) },
		Cluster: func() {
			l.override("%s", standsIn(o))
		},
		Evaluate: func(texts []string, params map[string]any) ([]string, error) {
			return l.evaluated(options, texts, params)
		},
	}
}

// elsewhereOf tells the generators of an ApplicationSet which directory has the files of another repository, by the cluster file.
func (l *layout) elsewhereOf(o object) func(address string) (dir string, said bool) {
	return func(address string) (string, bool) {
		dir, said := l.repo.Elsewhere(address)
		if !said && (l.repo.Own(address) || !l.cluster.lacks(address)) {
			return "", false
		}
		if dir != "" {
			l.override("ApplicationSet %s (%s): %s is the repository %s, by the cluster file", o.Name(), l.repo.At(o), l.repo.Shown(dir), address)
		}
		return dir, true
	}
}

// standsIn is the override of an ApplicationSet with a generator of clusters.
func standsIn(o object) string {
	return fmt.Sprintf("ApplicationSet %s: the cell's cluster stands for the clusters that it selects", o.Name())
}

// parameters gives the parameters of each Application that a generator makes.
func (l *layout) parameters(o object, g *yamlv3.Node) ([]map[string]any, error) {
	sets, err := l.evaluator(o).Parameters(g)
	if wrong := (*argoapi.GeneratorError)(nil); errors.As(err, &wrong) {
		return nil, l.repo.BadAt(o, wrong.Node, "a generator of ApplicationSet %s: %w", o.Name(), wrong.Err)
	}
	if err == nil && len(sets) > mostGenerated {
		return nil, l.repo.BadAt(o, g, "ApplicationSet %s generates more than %d Applications", o.Name(), mostGenerated)
	}
	return sets, err
}

// instance is the Application for one set of parameters. Its lines are those of the template.
func (l *layout) instance(o object, params map[string]any) (object, error) {
	template := yamlx.Find(o.Node, "spec", "template")
	if template == nil || yamlx.Find(template, "spec") == nil {
		return object{}, l.repo.Bad(o, []string{"spec"}, "ApplicationSet %s has no template", o.Name())
	}
	template, err := l.evaluator(o).Fill(template, params)
	if err != nil {
		if strings.Contains(err.Error(), "has no ") && slices.Contains(l.overrides, "app: "+standsIn(o)) {
			err = fmt.Errorf("%w; of a cluster that Argo CD knows, only the labels that a selector names are known here: put what the template needs into --cluster-file (`cluster: {labels: {KEY: VALUE}, annotations: {KEY: VALUE}}`), or under values of the generator", err)
		}
		return object{}, l.repo.Bad(o, []string{"spec", "template"}, "the template of ApplicationSet %s: %w", o.Name(), err)
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
	made := checkout.New(o.File, node)
	return made, l.patched(o, made, params)
}

// patched lays spec.templatePatch, a template of one text, over an Application.
func (l *layout) patched(o, made object, params map[string]any) error {
	n := yamlx.Find(o.Node, "spec", "templatePatch")
	if n == nil {
		return nil
	}
	texts, err := l.evaluator(o).FillTexts([]string{n.Value}, params)
	if err != nil {
		return l.repo.BadAt(o, n, "templatePatch of ApplicationSet %s: %w", o.Name(), err)
	}
	docs, err := yamlx.Documents([]byte(texts[0]))
	if err != nil || len(docs) > 1 || len(docs) == 1 && (len(docs[0].Content) != 1 || docs[0].Content[0].Kind != yamlv3.MappingNode) {
		return l.repo.BadAt(o, n, "templatePatch of ApplicationSet %s makes no YAML mapping for Application %s", o.Name(), made.Name())
	}
	if len(docs) == 1 {
		shift(docs[0].Content[0], n.Line)
		argoapi.MergePatch(made.Node, docs[0].Content[0])
	}
	return nil
}

// mostTemplate is how long what a template makes may be, in bytes.
const mostTemplate = 1 << 20

// evaluated evaluates templates of Go, in a process of their own: they are programs of an untrusted person.
func (l *layout) evaluated(options, texts []string, params map[string]any) (all []string, err error) {
	for _, text := range texts {
		value, err := l.by.templates.Execute(l.by.ctx, texttemplate.Template{Name: "template", Text: text, ApplicationSet: &texttemplate.ApplicationSet{Options: options}, Most: mostTemplate}, params)
		if err != nil {
			return nil, err
		}
		if strings.Contains(value, "<no value>") {
			return nil, fmt.Errorf("%s has no value", text)
		}
		all = append(all, value)
	}
	return all, nil
}
