package app

import (
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// chartOfApps gives the Applications in a chart of an Application; nil if its templates have none.
// Their lines are those of the templates, as far as these have the same text.
func (l *layout) chartOfApps(o object, dir string) ([]object, error) {
	names, err := l.repo.Walk(dir, nil)
	if err != nil {
		return nil, err
	}
	var files []*loader.BufferedFile
	templates := map[string][]string{}
	for _, name := range names {
		content, err := l.repo.Read(name)
		if err != nil {
			return nil, err
		}
		rel := strings.TrimPrefix(name, dir+"/")
		files = append(files, &loader.BufferedFile{Name: rel, Data: content})
		if text := string(content); strings.HasPrefix(rel, "templates/") && strings.Contains(text, groupArgoCD) && strings.Contains(text, "kind: "+kindApplication) {
			templates[name] = strings.Split(text, "\n")
		}
	}
	if len(templates) == 0 {
		return nil, nil
	}
	ch, err := loader.LoadFiles(files)
	if err != nil {
		return nil, &recipe.FileError{File: l.repo.Shown(path.Join(dir, chartFile)), Err: err}
	}
	values, err := l.helmValues(o, dir)
	if err != nil {
		return nil, err
	}
	release := yamlx.Text(o.Node, "spec", "source", "helm", "releaseName")
	if release == "" {
		release = o.Name()
	}
	made, err := l.by.renderer.Release(l.by.ctx, render.Request{Chart: ch, Values: values, Name: release, Namespace: yamlx.Text(o.Node, "spec", "destination", "namespace")})
	if err != nil {
		return nil, &recipe.FileError{File: l.repo.Shown(path.Join(dir, chartFile)), Err: fmt.Errorf("the chart of Application %s: %w", o.Name(), err)}
	}
	docs, err := yamlx.Documents([]byte(made.Manifest))
	if err != nil {
		return nil, l.repo.Bad(o, nil, "what the chart of Application %s renders cannot be read: %w", o.Name(), err)
	}
	var all []object
	for _, d := range docs {
		if len(d.Content) != 1 {
			continue
		}
		inner := checkout.New(checkout.TemplateOf(d, ch.Name(), dir), d.Content[0])
		if inner.Kind() == "" {
			continue
		}
		lines := templates[inner.File]
		checkout.Like(inner.Node, lines, slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "kind: ") })+1)
		all = append(all, inner)
	}
	return all, nil
}

// helmValues are the values that an Application sets for its chart in this repository.
func (l *layout) helmValues(o object, dir string) (map[string]any, error) {
	helm := yamlx.Find(o.Node, "spec", "source", "helm")
	values := map[string]any{}
	over := func(n *yamlv3.Node, content []byte) error {
		next := map[string]any{}
		if err := yaml.Unmarshal(content, &next); err != nil {
			return l.repo.BadAt(o, n, "values of Application %s: %w", o.Name(), err)
		}
		values = chartutil.CoalesceTables(next, values)
		return nil
	}
	if files := yamlx.Find(helm, "valueFiles"); files != nil {
		for _, n := range files.Content {
			name := path.Join(dir, n.Value)
			if strings.HasPrefix(n.Value, "/") {
				name = path.Clean(strings.TrimPrefix(n.Value, "/"))
			}
			content, err := l.repo.Read(name)
			if err != nil {
				return nil, l.repo.BadAt(o, n, "values file %s of Application %s: %w", n.Value, o.Name(), err)
			}
			if err := over(n, content); err != nil {
				return nil, err
			}
		}
	}
	if n := yamlx.Find(helm, "values"); n != nil {
		if err := over(n, []byte(n.Value)); err != nil {
			return nil, err
		}
	}
	if n := yamlx.Find(helm, "valuesObject"); n != nil {
		content, err := yamlx.Encode([]*yamlv3.Node{n})
		if err != nil {
			return nil, l.repo.BadAt(o, n, "valuesObject of Application %s: %w", o.Name(), err)
		}
		if err := over(n, content); err != nil {
			return nil, err
		}
	}
	if _, wrong := argoapi.ApplyParameters(values, yamlx.Find(helm, "parameters"), o.Name(), yamlx.Text(o.Node, "spec", "destination", "namespace")); wrong != nil {
		return nil, l.repo.BadAt(o, &yamlv3.Node{Line: wrong.Line}, "Application %s: %w", o.Name(), wrong)
	}
	return values, nil
}
