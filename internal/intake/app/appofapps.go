package app

import (
	"cmp"
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
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// chartOfApps gives the Applications in a chart of an Application; nil if its templates have none.
func (l *layout) chartOfApps(o object, dir string) ([]object, error) {
	files, err := archive.Directory(l.repo.FSys, dir)
	if err != nil {
		return nil, l.chartError(dir, err)
	}
	if !mentions(files, groupArgoCD, kindApplication) {
		return nil, nil
	}
	values, err := l.helmValues(o, dir)
	if err != nil {
		return nil, err
	}
	r := render.Request{Values: values, Name: cmp.Or(yamlx.Text(o.Node, "spec", "source", "helm", "releaseName"), o.Name()), Namespace: yamlx.Text(o.Node, "spec", "destination", "namespace")}
	all, err := l.rendered(dir, files, r)
	if err != nil {
		return nil, &recipe.FileError{File: l.repo.Shown(path.Join(dir, chartFile)), Err: fmt.Errorf("the chart of Application %s: %w", o.Name(), err)}
	}
	return all, nil
}

// mentions reports whether a template of a chart may render an object of that kind.
func mentions(files []*loader.BufferedFile, group, kind string) bool {
	return slices.ContainsFunc(files, func(f *loader.BufferedFile) bool {
		text := string(f.Data)
		return strings.HasPrefix(f.Name, "templates/") && strings.Contains(text, group) && strings.Contains(text, "kind: "+kind)
	})
}

// rendered gives the objects that a chart renders. Their lines are those of the templates, as far as these have
// the same text.
func (l *layout) rendered(dir string, files []*loader.BufferedFile, r render.Request) ([]object, error) {
	templates := map[string][]string{}
	for _, f := range files {
		if strings.HasPrefix(f.Name, "templates/") {
			templates[path.Join(dir, f.Name)] = strings.Split(string(f.Data), "\n")
		}
	}
	var err error
	if r.Chart, err = loader.LoadFiles(files); err != nil {
		return nil, err
	}
	made, err := l.by.renderer.Release(l.by.ctx, r)
	if err != nil {
		return nil, err
	}
	docs, err := yamlx.Documents([]byte(made.Manifest))
	if err != nil {
		return nil, fmt.Errorf("what it renders cannot be read: %w", err)
	}
	var all []object
	for _, d := range docs {
		if len(d.Content) != 1 {
			continue
		}
		inner := checkout.New(checkout.TemplateOf(d, r.Chart.Name(), dir), d.Content[0])
		if inner.Kind() == "" {
			continue
		}
		lines := templates[inner.File]
		checkout.Like(inner.Node, lines, slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "kind: ") })+1)
		all = append(all, inner)
	}
	return all, nil
}

// deployers gives what the chart of an app renders, if some of it is for Argo CD or Flux: then that lane
// delivers it. Nil for another chart, and for one that does not render: the lane of Helm says why.
func (l *layout) deployers(a *App) ([]object, error) {
	files, err := archive.Directory(l.repo.FSys, a.chart)
	if err != nil || !mentions(files, groupArgoCD, kindApplication) && !mentions(files, groupHelm, kindRelease) && !mentions(files, groupKustomize, kindKustomization) {
		return nil, nil
	}
	values := map[string]any{}
	for _, file := range a.values {
		_, content, err := valuesFile(file)
		if err != nil {
			return nil, err
		}
		next := map[string]any{}
		if err := yaml.Unmarshal(content, &next); err != nil {
			return nil, fmt.Errorf("--values %s: %w", file, err)
		}
		values = chartutil.CoalesceTables(next, values)
	}
	all, err := l.rendered(a.chart, files, render.Request{Values: values, Name: a.Name(), Namespace: cmp.Or(a.Namespace, plainNamespace)})
	if err != nil {
		return nil, l.by.ctx.Err()
	}
	if argo, flux := ofDeployers(all); argo == nil && flux == nil {
		return nil, nil
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
			if !l.repo.Has(name) && yamlx.Text(helm, "ignoreMissingValueFiles") == "true" {
				continue
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
